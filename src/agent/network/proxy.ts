/** The egress proxy of this agent, and the platform, which is reached without it. */
type ProxySettings = { proxyUrl: string; agentId: string; token: string; platformUrl: string }

/**
 * Returns the environment variables by which this agent and its programs find the egress proxy. The URL contains the
 * proxy's password, which opens nothing else.
 */
export function toProxyVariables({ proxyUrl, agentId, token, platformUrl }: ProxySettings): Record<string, string> {
  const url = new URL(proxyUrl)
  url.username = agentId
  url.password = token
  const proxy = url.href
  const direct = [...new Set(['127.0.0.1', 'localhost', '::1', new URL(platformUrl).hostname])].join(',')
  // Programs differ in the case that they read; curl reads http_proxy in lower case only.
  return {
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    NO_PROXY: direct,
    http_proxy: proxy,
    https_proxy: proxy,
    no_proxy: direct,
    NODE_USE_ENV_PROXY: '1',
  }
}

/** Makes WebSockets to other machines use the proxy, which `fetch` finds in the environment by itself. */
export function routeWebSockets(proxyUrl: string): void {
  const Direct = globalThis.WebSocket
  class ProxiedWebSocket extends Direct {
    constructor(url: string | URL, options?: string | string[] | Bun.WebSocketOptions) {
      const given = typeof options === 'string' || Array.isArray(options) ? { protocols: options } : { ...options }
      super(url, isLoopback(url) ? given : { ...given, proxy: proxyUrl })
    }
  }
  globalThis.WebSocket = ProxiedWebSocket
}

function isLoopback(url: string | URL): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname)
}
