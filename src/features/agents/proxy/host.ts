/** An agent's id as every runtime takes it: a DNS label. */
const AGENT_ID = /^[a-z0-9][a-z0-9-]{0,40}$/

/**
 * Reads the Host header: null when it names no host below `agentsDomain`, otherwise the agent it names, or an empty
 * id when none can be called that.
 */
export function createHostReader(agentsDomain: string): (host: string | null) => { id: string; name: string } | null {
  const suffix = `.${agentsDomain}`
  return (host) => {
    if (!host || host.length < suffix.length) return null
    const name = host.toLowerCase().replace(/\.?(?::\d+)?$/, '')
    if (!name.endsWith(suffix)) return null
    const id = name.slice(0, -suffix.length)
    return { id: AGENT_ID.test(id) ? id : '', name }
  }
}
