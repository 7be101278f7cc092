import { z } from 'zod'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { PlatformCall } from '../platform-call.ts'
import type { ChannelName, Choice, Place, Pressed, Service } from './channel.ts'
import { toArgumentLines, toSentence } from './question-text.ts'
import { splitText } from './split.ts'

const Asked = z.object({ status: z.enum(['waiting', 'approved', 'denied', 'expired', 'used']) })
export type QuestionStatus = z.infer<typeof Asked>['status']

const PRESSED = /^(approve|deny):(apr_\w+)$/
/** Left of a message for the words around the arguments, and for what became of the question. */
const ROOM_FOR_WORDS_CHARS = 300
const MAX_PAGE_CHARS = 300
const MAX_KEPT = 100
/** What is paid for is decided on the dashboard alone, in a session of the owner. */
const NEVER_ASKED: ReadonlySet<string> = new Set(['paid_request'])

/** A channel with the people whom the settings name as owners. */
export type OwnerChannel = { name: ChannelName; service: Service; owners: readonly string[] }

/** What is asked for; `page` is where the owner decides it, and alone approves it where that is `dashboardOnly`. */
type Shown = { tool: string; json: string; page?: string | undefined; dashboardOnly: boolean }
type Sent = { service: Service; place: Place; messageId: string; text: string }

/** Questions to the owner, put to them with buttons wherever they can be reached. */
export type Questions = {
  /** Nobody waits for this: the dashboard has the question, too. */
  put(question: Shown & { id: string }): void
  /** What became of it, wherever it was decided. */
  settle(id: string, status: QuestionStatus): void
  /** Somebody has pressed a button. Returns what they are told. */
  press(channel: OwnerChannel, pressed: Pressed): Promise<string>
}

export function createQuestions(deps: {
  listChannels: () => readonly OwnerChannel[]
  call: PlatformCall
  log: Log
}): Questions {
  const kept = new Map<string, Promise<Sent[]>>()
  const putTo = async ({ service }: OwnerChannel, personId: string, id: string, question: Shown) => {
    const place = await service.findDirect(personId)
    const { text, isApprovable } = toText(service, question)
    const messageId = await service.writeChoices?.(place, text, toChoices(id, isApprovable))
    return messageId === undefined ? [] : [{ service, place, messageId, text }]
  }
  const show = async ({ service, place, messageId, text }: Sent, sentence: string) => {
    await service.edit(place, messageId, `${text}\n\n${sentence}`).catch((error: unknown) => {
      deps.log.warn({ error: errorMessage(error) }, 'the end of a question could not be shown')
    })
  }
  return {
    put({ id, ...question }) {
      if (kept.has(id) || NEVER_ASKED.has(question.tool)) return
      const puts = deps.listChannels().flatMap((channel) =>
        channel.owners.map((owner) =>
          putTo(channel, owner, id, question).catch((error: unknown) => {
            // The ids of owners belong to several messengers, and nobody knows which to which.
            deps.log.info({ channel: channel.name, error: errorMessage(error) }, 'an owner was not asked here')
            return []
          }),
        ),
      )
      kept.set(
        id,
        Promise.all(puts).then((sent) => sent.flat()),
      )
      for (const oldest of [...kept.keys()].slice(0, -MAX_KEPT)) kept.delete(oldest)
    },
    settle(id, status) {
      const sent = kept.get(id)
      if (!sent || status === 'waiting') return
      kept.delete(id)
      void sent.then((messages) => Promise.all(messages.map((message) => show(message, describe(status)))))
    },
    async press(channel, { personId, value, place, messageId, text }) {
      const [, verb, id] = PRESSED.exec(value) ?? []
      if (!id || !verb) return 'This button is none of mine.'
      if (!channel.owners.includes(personId)) return 'Only my owner decides that.'
      const sentence = await decide(deps.call, id, { decision: verb, channel: channel.name, personId })
      if (sentence === null) return 'I cannot reach the platform now. Please press again later.'
      const others = (await kept.get(id)) ?? []
      kept.delete(id)
      const pressed = { service: channel.service, place, messageId, text }
      const isPressed = (one: Sent) => one.messageId === messageId && one.place.chatId === place.chatId
      await Promise.all([pressed, ...others.filter((one) => !isPressed(one))].map((one) => show(one, sentence)))
      return sentence
    },
  }
}

/** What to say of it; null when the platform could not be asked. */
async function decide(call: PlatformCall, id: string, decision: object): Promise<string | null> {
  try {
    const body = decision
    const { status } = await call(Asked, { path: `/v1/approvals/${id}/decision`, method: 'POST', body, isOnce: true })
    return describe(status)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (error.kind === 'forbidden') return error.message
    if (error.kind === 'not_found') return 'Nobody knows this question any more.'
    if (error.kind !== 'conflict') return null
  }
  const { status } = await call(Asked, { path: `/v1/approvals/${id}` }).catch(() => ({ status: null }))
  return status === null ? null : `Decided elsewhere before: ${describe(status)}`
}

function toChoices(id: string, isApprovable: boolean): Choice[] {
  const deny = { label: 'Deny', value: `deny:${id}` }
  return isApprovable ? [{ label: 'Approve', value: `approve:${id}` }, deny] : [deny]
}

/**
 * Nothing in it is hidden, or taken for a mark of the service: what an agent asks for may be somebody else's words. Nobody
 * approves by a button what the message above it does not show, nor what the platform would refuse there.
 */
function toText(
  { maxChars, toLiteral }: Service,
  { tool, json, page, dashboardOnly }: Shown,
): { text: string; isApprovable: boolean } {
  const question = toLiteral(toSentence(tool))
  const visible = toArgumentLines(json)
  const shown = toLiteral(visible)
  const where = page && page.length <= MAX_PAGE_CHARS ? `: ${page}` : '.'
  const room = maxChars - ROOM_FOR_WORDS_CHARS - question.length - where.length
  if (shown.length > room) {
    const start = toLiteral(splitText(visible, Math.floor(room / 2))[0] ?? '')
    const rest = `This is not all of it, and can be approved on the dashboard alone${where}`
    return { text: `${question}\n${start}…\n${rest}`, isApprovable: false }
  }
  if (!dashboardOnly) return { text: `${question}\n${shown}`, isApprovable: true }
  return { text: `${question}\n${shown}\n\nThis can be approved on the dashboard alone${where}`, isApprovable: false }
}

function describe(status: QuestionStatus): string {
  switch (status) {
    case 'approved':
    case 'used':
      return 'Approved.'
    case 'denied':
      return 'Denied.'
    case 'expired':
      return 'Nobody answered in time: denied.'
    case 'waiting':
      return 'It still waits.'
  }
}
