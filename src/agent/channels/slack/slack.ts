import { LogLevel, WebAPIHTTPError, WebAPIRequestError, WebClient } from '@slack/web-api'
import { HttpsProxyAgent } from 'https-proxy-agent'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { type ChannelConnection, createStateKeeper, keepListening, type Press, type Receive } from '../channel.ts'
import {
  codeOf,
  createSlackService,
  EventPayload,
  InteractivePayload,
  type SlackServiceSettings,
  toPressed,
  toSlackIncoming,
} from './service.ts'
import { listenToSocket } from './socket.ts'

const TIMEOUT_MS = 30_000
const RETRIES = { retries: 3, minTimeout: 500, maxTimeout: 5000 }
/** Caches names, so that not every message requests the name of its author. */
const MAX_NAMES = 1000

/** `token` is the bot's; `appToken` opens sockets; `retryMs` is the pause before reconnecting. */
export type SlackSettings = SlackServiceSettings & {
  appToken: string
  retryMs: number
  /** URL of the egress proxy, for sockets; undefined without one. */
  proxyUrl?: string | undefined
}

const Me = z.object({ user_id: z.string(), user: z.string() })
const User = z.object({
  user: z.object({
    name: z.string(),
    real_name: z.string().optional(),
    profile: z.object({ display_name: z.string().optional() }).optional(),
  }),
})

/** Errors that persist until the token or the app's settings change. */
const REFUSALS: ReadonlySet<string> = new Set([
  'invalid_auth',
  'not_authed',
  'account_inactive',
  'token_revoked',
  'token_expired',
  'not_allowed_token_type',
  'missing_scope',
  'no_permission',
  'team_access_not_granted',
])

/** Connects one app with Socket Mode. Loads Slack's libraries, so import this module only for a configured app. */
export function createSlackConnection(
  settings: SlackSettings,
  deps: { clock: Clock; fetch: typeof fetch; log: Log },
): ChannelConnection {
  const state = createStateKeeper(deps.clock)
  const options = {
    slackApiUrl: `${settings.apiUrl}/api/`,
    retryConfig: RETRIES,
    timeout: TIMEOUT_MS,
    logLevel: LogLevel.ERROR,
  }
  const web = new WebClient(settings.token, { ...options, fetch: deps.fetch })
  const findName = createNameFinder(web)

  /** Runs in the background: Slack warns when a button is not acknowledged within three seconds. */
  const answerPress = (payload: unknown, press: Press) => {
    const parsed = InteractivePayload.safeParse(payload).data
    const pressed = parsed ? toPressed(parsed) : null
    if (!pressed) return
    const answer = async () => {
      const text = await press(pressed)
      await web.chat.postEphemeral({ channel: pressed.place.chatId, user: pressed.personId, text })
    }
    answer().catch((error: unknown) => deps.log.warn({ error: errorMessage(error) }, 'failed to answer a button press'))
  }

  /** Listens until the owner disables Socket Mode or a request fails. */
  const listen = async (receive: Receive, signal: AbortSignal, press: Press) => {
    const me = Me.parse(await web.auth.test())
    while (!signal.aborted) {
      const reason = await listenToSocket({
        appToken: settings.appToken,
        clientOptions: { ...options, ...toProxyAgent(settings), fetch: deps.fetch },
        signal,
        connected: () => state.setConnected(`@${me.user}`),
        async receive({ type, body }) {
          if (type === 'interactive') return answerPress(body, press)
          const event = type === 'events_api' ? EventPayload.safeParse(body).data?.event : undefined
          const incoming = event && (await toSlackIncoming(event, me.user_id, findName))
          if (incoming) await receive(incoming, true)
        },
      })
      if (reason === 'link_disabled') throw new SocketModeOff()
      // Slack replaces its sockets every few hours and announces it: that is no error.
      if (reason === 'broken' && !signal.aborted) throw new SocketBroken()
    }
  }

  return {
    state: state.read,
    service: createSlackService(settings, web, deps.fetch),
    async run(receive, signal, press) {
      const listenNow = () => listen(receive, signal, press)
      await keepListening(signal, { listen: listenNow, state, describe, isRefused, toWaitMs: () => settings.retryMs })
    },
  }
}

/** Sockets do not find the proxy in the environment. A server on this machine is reached without it. */
function toProxyAgent({ apiUrl, proxyUrl }: SlackSettings): { agent?: HttpsProxyAgent<string> } {
  const isLocal = ['127.0.0.1', 'localhost'].includes(new URL(apiUrl).hostname)
  return proxyUrl === undefined || isLocal ? {} : { agent: new HttpsProxyAgent(proxyUrl) }
}

class SocketModeOff extends Error {}
class SocketBroken extends Error {}

function isRefused(error: unknown): boolean {
  return error instanceof SocketModeOff || REFUSALS.has(codeOf(error) ?? '')
}

function describe(error: unknown): string {
  if (error instanceof SocketModeOff)
    return 'Socket Mode is switched off for this app at Slack: switch it on, then start the agent anew'
  if (error instanceof SocketBroken) return 'The connection to Slack broke; connecting again'
  const code = codeOf(error)
  if (code !== undefined)
    return isRefused(error)
      ? `Slack refuses a token (${code}): set another one`
      : `Slack answered ${code}; trying again`
  if (error instanceof WebAPIHTTPError) return `Slack answered ${error.statusCode}; trying again`
  if (error instanceof WebAPIRequestError) return 'Slack cannot be reached; trying again'
  return `${errorMessage(error)}; trying again`
}

/** Returns the display name; the id if the app may not read profiles. */
function createNameFinder(web: WebClient): (userId: string) => Promise<string> {
  const names = new Map<string, string>()
  return async (userId) => {
    const known = names.get(userId)
    if (known !== undefined) return known
    const found = await web.users.info({ user: userId }).catch(() => null)
    const user = User.safeParse(found).data?.user
    if (!user) return userId
    const name = user.profile?.display_name || user.real_name || user.name
    if (names.size >= MAX_NAMES) names.clear()
    names.set(userId, name)
    return name
  }
}
