import { cleanup, render, screen } from '@testing-library/svelte';
import { afterEach, describe, expect, test } from 'vitest';
import App from './App.svelte';

afterEach(cleanup);

describe('the page', () => {
  test('names the program and the version that its host tells', async () => {
    render(App, { host: { version: async () => '1.2.3' } });

    expect(screen.getByRole('heading', { name: 'Loopkeeper' })).toBeTruthy();
    expect(await screen.findByText('Version 1.2.3')).toBeTruthy();
  });

  test('says nothing of a version where the host knows none', async () => {
    const { container } = render(App, { host: { version: async () => null } });

    await Promise.resolve();
    expect(container.textContent, 'a browser has no program to ask').not.toContain('Version');
  });
});
