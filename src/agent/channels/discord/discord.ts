import { DiscordAPIError, HTTPError, REST } from '@discordjs/rest'
import {
  type APIInteraction,
  GatewayDispatchEvents,
  InteractionResponseType,
  InteractionType,
  Routes,
} from 'discord-api-types/v10'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { systemCode } from '../../../core/files/system-error.ts'
import { type ChannelConnection, createStateKeeper, keepListening, type Press, type Receive } from '../channel.ts'
import { describeClose, GatewayRefusal, listenToGateway, openSessionFile } from './gateway.ts'
import { createDiscordService, toDiscordIncoming } from './service.ts'

/** `apiUrl` is the service's URL without `/api`; `retryMs` is the pause before reconnecting. */
export type DiscordSettings = { token: string; apiUrl: string; retryMs: number; editEveryMs: number }

const Me = z.object({ id: z.string(), username: z.string() })

/**
 * Connects one bot to the gateway; `folder` keeps its session. Loads Discord's libraries, so import this module only
 * for a configured bot.
 */
export async function createDiscordConnection(
  settings: DiscordSettings,
  deps: { clock: Clock; fetch: typeof fetch; folder: string },
): Promise<ChannelConnection> {
  const { token, apiUrl, retryMs } = settings
  const session = await openSessionFile(deps.folder)
  const state = createStateKeeper(deps.clock)
  const rest = new REST({ api: `${apiUrl}/api` }).setToken(token)

  const listen = async (receive: Receive, signal: AbortSignal, press: Press) => {
    const me = Me.parse(await rest.get(Routes.user(), { signal }))
    await listenToGateway({
      token,
      rest,
      session,
      signal,
      listener: {
        connected: () => state.setConnected(`@${me.username}`),
        disconnected: (code) => state.setFailed(`${describeClose(code)}; connecting again`),
        async dispatch(payload) {
          if (payload.t === GatewayDispatchEvents.InteractionCreate) answerPress(rest, payload.d, press)
          if (payload.t !== GatewayDispatchEvents.MessageCreate) return
          const incoming = toDiscordIncoming(payload.d, me.id)
          if (incoming) await receive(incoming.message, incoming.isAddressed).catch(refuseToConfirm)
        },
      },
    })
  }

  return {
    state: state.read,
    service: createDiscordService(settings, rest, deps.fetch),
    async run(receive, signal, press) {
      const listenNow = () => listen(receive, signal, press)
      await keepListening(signal, { listen: listenNow, state, describe, isRefused, toWaitMs: () => retryMs })
    },
  }
}

/** Acknowledges the button at once, because Discord waits only three seconds; editing the message shows the outcome. */
function answerPress(rest: REST, interaction: APIInteraction, press: Press): void {
  if (interaction.type !== InteractionType.MessageComponent) return
  const { id, token, message, channel, data } = interaction
  const user = interaction.user ?? interaction.member?.user
  if (!user) return
  const body = { type: InteractionResponseType.DeferredMessageUpdate }
  const place = { chatId: channel.id, threadId: null, isDirect: interaction.guild_id === undefined }
  const pressed = { personId: user.id, value: data.custom_id, place, messageId: message.id, text: message.content }
  rest
    .post(Routes.interactionCallback(id, token), { body, auth: false })
    .then(() => press(pressed))
    .catch(() => undefined)
}

function isRefused(error: unknown): boolean {
  return error instanceof GatewayRefusal || (error instanceof DiscordAPIError && error.status === 401)
}

function describe(error: unknown): string {
  if (error instanceof GatewayRefusal) return error.message
  if (error instanceof DiscordAPIError) {
    return isRefused(error)
      ? 'Discord refuses the token (401 Unauthorized): set another one'
      : `Discord answered ${error.status} ${error.message}; trying again`
  }
  if (error instanceof HTTPError) return `Discord answered ${error.status}; trying again`
  const isAway = systemCode(error) !== undefined || (error instanceof Error && error.name === 'AbortError')
  return isAway ? 'Discord cannot be reached; trying again' : `${errorMessage(error)}; trying again`
}

/** Ends the connection, so that Discord delivers the message again. */
function refuseToConfirm(cause: unknown): never {
  throw new AppError('storage_full', `A message could not be kept (${errorMessage(cause)})`, {}, { cause })
}
