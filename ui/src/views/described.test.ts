// @vitest-environment node
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { t } from '../text';
import { policyKeys } from './form/draft';
import { sections } from './settings/fields';

interface Schema { properties?: Record<string, Schema>; $ref?: string; allOf?: Schema[]; default?: unknown }
const document = JSON.parse(readFileSync(new URL('../../../crates/server/openapi.json', import.meta.url), 'utf8')) as { components: { schemas: Record<string, Schema> } };
function schema(of: Schema | undefined): Schema {
  const name = (of?.$ref ?? of?.allOf?.[0]?.$ref)?.split('/').at(-1);
  const found = name === undefined ? of : document.components.schemas[name];
  if (!found) throw new Error(`the description has no ${name}`);
  return found;
}

/** What the routes describe is what the window shows: a key that is new there is missed here. */
describe('the routes’ own description', () => {
  it('has each setting that the window shows, with the same default, and no other', () => {
    const described = Object.entries(schema(document.components.schemas['Settings']).properties ?? {}).filter(([name]) => name !== 'command')
      .map(([name, section]) => [name, Object.fromEntries(Object.entries(schema(section).properties ?? {}).map(([key, value]) => [key, value.default ?? '']))]);
    const shown = sections.map((section) => [section.name, Object.fromEntries(section.fields.map((field) => [field.key, field.default]))]);
    expect(Object.fromEntries(shown as [string, unknown][])).toEqual(Object.fromEntries(described as [string, unknown][]));
    for (const section of sections) for (const field of section.fields) expect(t.settings.keys[`${section.name}.${field.key}`], `${section.name}.${field.key} has words`).toBeDefined();
  });
  it('has each rule of a policy that the form shows, and no other', () => {
    const described = Object.keys(document.components.schemas['Policy']?.properties ?? {}).map((key) => (key === 'budget' ? 'runs_per_day' : key));
    expect([...policyKeys].sort()).toEqual(described.sort());
  });
});
