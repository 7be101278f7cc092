import createFetchClient, { type Client } from 'openapi-fetch'

/**
 * Origins without a path, such as `http://localhost:3000`; ports that are not used may be omitted. `key` is an `sk_`
 * key, or `INTERNAL_API_KEY` for the backend. `fetch` defaults to the global one.
 */
type SteadClientOptions = {
  web?: string
  backend?: string
  summarizer?: string
  key?: string
  fetch?: (request: Request) => Promise<Response>
}

/** One client per port: `client.web.GET('/api/agents')` resolves to `{ data }` or `{ error }`, with `response`. */
type SteadClientOf<Web extends object, Backend extends object, Summarizer extends object> = {
  web: Client<Web>
  backend: Client<Backend>
  summarizer: Client<Summarizer>
}

/** Creates a client typed by Stead's OpenAPI documents. */
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
