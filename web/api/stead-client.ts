import createFetchClient, { type Client } from 'openapi-fetch'

/**
 * Addresses without a path, such as `http://localhost:3000`; of a port that is never asked it may be left out. `key` is an
 * `sk_` key, or `INTERNAL_API_KEY` for the backend of an operator. `fetch` is that of the platform unless it is given.
 */
export type SteadClientOptions = {
  web?: string
  backend?: string
  summarizer?: string
  key?: string
  fetch?: (request: Request) => Promise<Response>
}

/** A client of each port: `client.web.GET('/api/agents')` answers `{ data }` or `{ error }`, and `response` beside it. */
export type SteadClientOf<Web extends object, Backend extends object, Summarizer extends object> = {
  web: Client<Web>
  backend: Client<Backend>
  summarizer: Client<Summarizer>
}

/** Speaks to a Stead by the paths and shapes of its own OpenAPI documents. */
export function createSteadClient<Web extends object, Backend extends object, Summarizer extends object>(
  options: SteadClientOptions,
): SteadClientOf<Web, Backend, Summarizer> {
  const toPort = <Paths extends object>(baseUrl: string | undefined): Client<Paths> =>
    createFetchClient<Paths>({
      ...(baseUrl !== undefined && { baseUrl }),
      ...(options.fetch && { fetch: options.fetch }),
      ...(options.key !== undefined && { headers: { authorization: `Bearer ${options.key}` } }),
    })
  return { web: toPort(options.web), backend: toPort(options.backend), summarizer: toPort(options.summarizer) }
}
