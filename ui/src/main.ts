import { mount } from 'svelte';
import './app.css';
import App from './App.svelte';
import { detectHost } from './host';

const target = document.querySelector('#app');
if (target === null) throw new Error('index.html has no element with the id "app"');

void detectHost().then((host) => mount(App, { target, props: { host } }));
