import type { Agents, Models } from '../api/types';
import { Resource } from './resource.svelte';
import { session } from './session.svelte';

/** The models and agents that OpenCode offers in a folder; asked for when a form or an editor needs them. */
class Catalog {
  #directory = $state<string | undefined>(undefined);
  readonly models = new Resource<Models>(() => session.api.models(this.#directory));
  readonly agents = new Resource<Agents>(() => session.api.agents(this.#directory));
  #variants = $derived(new Map((this.models.value?.providers ?? []).flatMap((provider) => provider.models.map((model) => [`${provider.id}/${model.id}`, model.variants ?? []] as [string, string[]]))));
  modelNames = $derived([...this.#variants.keys()]);
  agentNames = $derived((this.agents.value?.agents ?? []).map((agent) => agent.name));

  need(directory: string | undefined): void {
    if (directory !== this.#directory) {
      this.#directory = directory;
      this.models.reset();
      this.agents.reset();
    }
    void this.models.load();
    void this.agents.load();
  }
  variants(name: string): string[] {
    return this.#variants.get(name) ?? [];
  }
  /** Whether a model exists; undefined when nobody can tell now. */
  hasModel(name: string): boolean | undefined {
    const models = this.models.value;
    if (models === undefined) return undefined;
    if (this.#variants.has(name)) return true;
    const provider = name.slice(0, name.indexOf('/'));
    if (this.agents.value?.commands.some((command) => command.name === provider)) return true;
    // Whose models are listed has no others.
    if (models.providers.some((each) => each.id === provider && each.models.length > 0)) return false;
    // Without OpenCode nobody knows what it would offer.
    return models.problem ? undefined : false;
  }
  hasAgent(name: string): boolean | undefined {
    const list = this.agents.value?.agents;
    if (list === undefined || list.length === 0) return undefined;
    return this.agentNames.includes(name);
  }
}
export const catalog = new Catalog();
