/** What the listener hands to the app beside the request. */
export type AgentEnv = {
  Bindings: {
    /** Keeps a request open past the server's idle timeout. */
    keepOpen: (request: Request) => void
  }
}
