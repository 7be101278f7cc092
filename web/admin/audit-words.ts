import { z } from 'zod'

/** Actors that are not accounts. */
const ACTORS: Readonly<Record<string, string>> = {
  cli: 'Command line',
  system: 'System',
  operator: 'Service (internal key)',
  cards: 'Stripe',
}

/** Sentence by action; `{}` is the target. */
const SENTENCES: Readonly<Record<string, string>> = {
  'account.change': 'changed {}',
  'account.create': 'created {}',
  'account.deleted': 'deleted {}',
  'account.email-change-asked': 'requested an email change for {}',
  'account.email-changed': 'changed the email address of {}',
  'account.email-verified': 'confirmed the email address of {}',
  'account.end-sessions': 'ended all sessions of {}',
  'account.password-changed': 'changed the password of {}',
  'account.password-reset': 'reset the password of {} by email',
  'account.remove-two-factor': 'turned off two-factor authentication of {}',
  'account.reset-password': 'reset the password of {}',
  'account.set-up': 'set up {}',
  'agent.caps': 'changed the limits of {}',
  'agent.channel-approve': 'allowed a sender on {}',
  'agent.channel-deny': 'denied a sender on {}',
  'agent.channel-off': 'restricted a channel of {}',
  'agent.channel-on': 'opened a channel of {}',
  'agent.channel-remove': 'removed a sender from {}',
  'agent.limits': 'changed the daily limits of {}',
  'agent.mcp-connected': 'connected an MCP server of {}',
  'agent.mcp-disconnected': 'disconnected an MCP server of {}',
  'agent.restore': 'restored {} from a backup',
  'agent.restore-configuration': 'restored a configuration of {}',
  'agent.restore-snapshot': 'restored a snapshot of {}',
  'agent.rotate-gateway-token': 'replaced the gateway token of {}',
  'agent.rotate-platform-token': 'replaced the platform token of {}',
  'agent.stop': 'stopped {}',
  'agent.stop-at-limit': 'stopped {} at a daily limit',
  'agents.pause': 'paused {}',
  'agents.resume': 'resumed {}',
  'approval.allowed': 'approved a tool call of {}',
  'approval.approved': 'approved a tool call of {}',
  'approval.denied': 'denied a tool call of {}',
  'approval.expired': 'let an approval request of {} expire',
  'approval.used': 'used an approval',
  'backup.backup': 'started a backup',
  'backup.download': 'downloaded the backup {}',
  'backup.drill': 'started a restore test of the backup {}',
  'backup.restore': 'started restoring an agent from the backup {}',
  'backup.settings': 'changed the backup settings',
  'backup.verify': 'started verifying the backup {}',
  'bus.replay': 'resent the dead letter {}',
  'clone.payment.restored': 'confirmed the payment for the clone {} again',
  'clone.payment.undone': 'detected a reverted payment for the clone {}',
  'installation.adopted': 'took over the agents of the instance {}',
  'invite.create': 'created the invitation {}',
  'invite.withdraw': 'revoked the invitation {}',
  'job.retry': 'retried the job {}',
  'key.rotated': 'rotated the encryption key',
  'key.sealed-dropped': 'deleted secrets encrypted with a lost key',
  'plan.change': 'changed the limits of the plan {}',
  'plan.create': 'created the plan {}',
  'plan.delete': 'deleted the plan {}',
  'plan.reset': 'reset the plan {} to PLANS_FILE',
  'prices.deleted': 'deleted the price of {}',
  'prices.set': 'set the price of {}',
  'services.mail-forgotten': 'removed the mail server',
  'services.mail-set': 'set the mail server',
  'services.provider-forgotten': 'removed the key of the provider {}',
  'services.provider-set': 'set the key of the provider {}',
  'sign-in.create': 'signed up with an identity provider',
  'sign-in.link': 'linked a sign-in method',
  'subscription.duplicate': 'canceled a duplicate subscription of {}',
  'two-factor.disable': 'turned off two-factor authentication of {}',
  'two-factor.enable': 'turned on two-factor authentication of {}',
  'two-factor.renew-recovery-codes': 'created new recovery codes for {}',
  'two-factor.use-recovery-code': 'signed in with a recovery code',
  'wallet.created': 'created the wallet {}',
  'wallet.exported': 'exported the key of the wallet {}',
  'wallet.payment': 'requested a payment from the wallet {}',
  'wallet.payment.approved': 'approved a payment from the wallet {}',
  'wallet.payment.denied': 'denied a payment from the wallet {}',
  'wallet.payment.resolved': 'resolved a payment from the wallet {}',
  'wallet.payment.undone': 'detected a reverted payment from the wallet {}',
  'wallet.policy': 'changed the limits of the wallet {}',
  'x402.pay': 'started a payment by {}',
}

const SCOPES: Readonly<Record<string, string>> = {
  owner: 'all agents of one owner',
  installation: 'all agents of this server',
}

type Entry = { actor: string; action: string; target: string }
type Names = Readonly<Record<string, string>>

/** Returns an entry as a sentence without a full stop; unknown actions keep their own name. */
export function describeEntry({ actor, action, target }: Entry, names: Names): string {
  const words = SENTENCES[action] ?? `${action} {}`
  return `${nameActor(actor, names)} ${words.replace('{}', nameTarget({ actor, target }, names))}`
}

function nameActor(actor: string, names: Names): string {
  return ACTORS[actor] ?? names[actor] ?? `${actor} (deleted)`
}

function nameTarget({ actor, target }: Pick<Entry, 'actor' | 'target'>, names: Names): string {
  if (target === actor) return 'their own account'
  return names[target] ?? SCOPES[target] ?? target
}

const Detail = z.record(z.string(), z.unknown())
const Change = z.tuple([z.unknown(), z.unknown()])

export function describeDetail(detail: unknown): string[] {
  const parsed = Detail.safeParse(detail)
  if (!parsed.success) return []
  return Object.entries(parsed.data).map(([name, value]) => {
    const change = Change.safeParse(value)
    return `${name}: ${change.success ? change.data.map(show).join(' → ') : show(value)}`
  })
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
