import Docker from 'dockerode'

const PING_TIMEOUT_MS = 1000
const CACHE_MS = 5000

/**
 * Asks the container engine at `dockerHost` (as the Docker CLI reads it) whether it answers. The answer is kept for 5 s:
 * health checks come often, and a hanging engine must not hold them up.
 */
export function createDockerPing(dockerHost: string): () => Promise<boolean> {
  const docker = new Docker({ ...toConnection(dockerHost), timeout: PING_TIMEOUT_MS })
  let answer: Promise<boolean> | undefined
  let askedAt = 0
  return () => {
    if (!answer || performance.now() - askedAt > CACHE_MS) {
      askedAt = performance.now()
      answer = docker.ping().then(
        () => true,
        () => false,
      )
    }
    return answer
  }
}

function toConnection(dockerHost: string): Docker.DockerOptions {
  if (!/^(tcp|https?):\/\//.test(dockerHost)) return { socketPath: dockerHost.replace(/^unix:\/\//, '') }
  const { hostname, port } = new URL(dockerHost.replace(/^tcp:/, 'http:'))
  return { host: hostname, port: port || '2375', protocol: dockerHost.startsWith('https:') ? 'https' : 'http' }
}
