/** A Kubernetes API server as a library; README.md beside this file tells when and how, and what is missing. */
export { type ApiServer, type ApiServerOptions, createApiServer } from './api-server.ts'
export { type Listener, type ListenerOptions, startListener } from './listener.ts'
