import { mount } from 'svelte';
import App from './App.svelte';
import { detectHost } from './host';
import './app.css';

const target = document.querySelector('#app');
if (target === null) throw new Error('index.html has no element with the id "app"');

mount(App, { target, props: { host: detectHost() } });
