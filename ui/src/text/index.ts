export { t } from './en';
export * as time from './time';
