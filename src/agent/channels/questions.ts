import { z } from 'zod'
import { isToolName, type ToolName } from '../../core/agents/agent-tools.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { toVisible } from '../../core/text/lines.ts'
import type { PlatformCall } from '../platform.ts'
import type { ButtonChoice, ChatAddress, MessengerName, Pressed, Service } from './channel.ts'
import { splitText } from './reply.ts'

const Asked = z.object({ status: z.enum(['waiting', 'approved', 'denied', 'expired', 'used']) })
type QuestionStatus = z.infer<typeof Asked>['status']

const PRESSED = /^(approve|deny):(apr_\w+)$/
/** Characters of a message reserved for the text around the arguments and for the outcome. */
const RESERVED_CHARS = 300
const MAX_PAGE_CHARS = 300
const MAX_KEPT = 100
/** Payments are approved only on the dashboard, in a session of the owner. */
const NEVER_ASKED: ReadonlySet<string> = new Set(['paid_request'])

/** A channel with the people whom the settings name as owners. */
export type OwnerChannel = { name: MessengerName; service: Service; owners: readonly string[] }

/** An approval request; `page` is its dashboard URL. `dashboardOnly` requests cannot be approved by a button. */
type Shown = { tool: string; json: string; page?: string | undefined; dashboardOnly: boolean }
type Sent = { service: Service; place: ChatAddress; messageId: string; text: string }

/** Approval requests, sent with buttons to the owner's messengers. */
export type Questions = {
  /** Returns at once; the dashboard shows the question too. */
  put(question: Shown & { id: string }): void
  /** Shows the outcome, wherever the owner decided. */
  settle(id: string, status: QuestionStatus): void
  /** Handles a pressed button. @returns the sentence shown to the person. */
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
      deps.log.warn({ error: errorMessage(error) }, 'failed to show the outcome of an approval request')
    })
  }
  return {
    put({ id, ...question }) {
      if (kept.has(id) || NEVER_ASKED.has(question.tool)) return
      const puts = deps.listChannels().flatMap((channel) =>
        channel.owners.map((owner) =>
          putTo(channel, owner, id, question).catch((error: unknown) => {
            // Owner ids of several messengers are mixed in one setting, so most channels cannot resolve some of them.
            deps.log.info({ channel: channel.name, error: errorMessage(error) }, 'an owner is unknown to this channel')
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
      if (!id || !verb) return 'This button does not belong to me.'
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

/** Returns the sentence for the outcome; null when the platform is unreachable. */
async function decide(call: PlatformCall, id: string, decision: object): Promise<string | null> {
  try {
    const body = decision
    const { status } = await call(Asked, { path: `/v1/approvals/${id}/decision`, method: 'POST', body, isOnce: true })
    return describe(status)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (error.kind === 'forbidden') return error.message
    if (error.kind === 'not_found') return 'This request no longer exists.'
    if (error.kind !== 'conflict') return null
  }
  const { status } = await call(Asked, { path: `/v1/approvals/${id}` }).catch(() => ({ status: null }))
  return status === null ? null : `Already decided: ${describe(status)}`
}

function toChoices(id: string, isApprovable: boolean): ButtonChoice[] {
  const deny = { label: 'Deny', value: `deny:${id}` }
  return isApprovable ? [{ label: 'Approve', value: `approve:${id}` }, deny] : [deny]
}

/**
 * Builds the message. All arguments are visible and escaped, because they may come from untrusted text. A request that
 * is cut off, or that the platform would refuse here, cannot be approved by a button.
 */
function toText(
  { maxChars, toLiteral }: Service,
  { tool, json, page, dashboardOnly }: Shown,
): { text: string; isApprovable: boolean } {
  const question = toLiteral(toSentence(tool))
  const visible = toArgumentLines(json)
  const shown = toLiteral(visible)
  const where = page && page.length <= MAX_PAGE_CHARS ? `: ${page}` : '.'
  const availableChars = maxChars - RESERVED_CHARS - question.length - where.length
  if (shown.length > availableChars) {
    const start = toLiteral(splitText(visible, Math.floor(availableChars / 2))[0] ?? '')
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
      return 'Not answered in time: denied.'
    case 'waiting':
      return 'It is still waiting.'
  }
}

/** Questions for tools that can require approval; an MCP tool is `server/tool`. */
const SENTENCES: Partial<Record<ToolName, string>> = {
  write_file: 'May I write this file?',
  patch_file: 'May I change this file?',
  move_file: 'May I move this file?',
  delete_file: 'May I delete this file?',
  send_message: 'May I send this message?',
  http_request: 'May I send this HTTP request?',
  paid_request: 'May I pay for this request?',
  run_shell: 'May I run this command?',
  run_python: 'May I run this Python program?',
}
const MAX_TOOL_CHARS = 100
const INDENT = '  '

/** Returns the question as a sentence, such as `May I delete this file?`. */
export function toSentence(tool: string): string {
  const known = isToolName(tool) ? SENTENCES[tool] : undefined
  if (known) return known
  const name = toVisible(tool).slice(0, MAX_TOOL_CHARS)
  const [server, ...rest] = name.split('/')
  return rest.length > 0 ? `May I use ${rest.join('/')} of the MCP server ${server}?` : `May I use ${name}?`
}

/**
 * Returns every argument of the call as lines of `name: value`, complete and in order. Further lines of a value are
 * indented, so that no value can pass for another argument; invisible characters are escaped.
 */
export function toArgumentLines(json: string): string {
  const input: unknown = JSON.parse(json)
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return toVisible(json)
  const entries = Object.entries(input)
  if (entries.length === 0) return 'No arguments.'
  return entries.map(([name, value]) => toLine(toKey(name), value)).join('\n')
}

function toKey(name: string): string {
  return /^\w+$/.test(name) ? name : toVisible(JSON.stringify(name))
}

function toLine(name: string, value: unknown): string {
  if (typeof value !== 'string') return `${name}: ${toVisible(JSON.stringify(value))}`
  const lines = value.split('\n').map(toVisible)
  // Quotes show spaces at the ends, and mark text that looks like another JSON value.
  if (lines.length === 1) return `${name}: ${isPlain(value) ? lines[0] : toVisible(JSON.stringify(value))}`
  return [`${name}:`, ...lines.map((line) => `${INDENT}${line}`)].join('\n')
}

function isPlain(value: string): boolean {
  return value !== '' && value.trim() === value && !/^(?:["[{]|(?:true|false|null)$|-?\d+(?:\.\d+)?$)/.test(value)
}
