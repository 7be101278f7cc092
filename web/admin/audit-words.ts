/** Who did something that is no account. */
const ACTORS: Readonly<Record<string, string>> = {
  cli: 'Somebody at the command line',
  system: 'The system',
  operator: 'A service with the internal key',
  cards: 'The card service',
}

/** What was done, by action; `{}` is to whom or what. Of a channel it says which one among the details. */
const SENTENCES: Readonly<Record<string, string>> = {
  'account.change': 'changed {}',
  'account.create': 'created {}',
  'account.deleted': 'deleted {}',
  'account.email-change-asked': 'asked for another email address for {}',
  'account.email-changed': 'changed the email address of {}',
  'account.email-verified': 'confirmed the email address of {}',
  'account.end-sessions': 'signed {} out everywhere',
  'account.password-changed': 'changed the password of {}',
  'account.password-reset': 'set a new password for {} by a mailed link',
  'account.remove-two-factor': 'removed the second factor of {}',
  'account.reset-password': 'set a new password for {}',
  'account.set-up': 'set up {}',
  'agent.caps': 'changed the limits of {}',
  'agent.channel-approve': 'let somebody talk to {}',
  'agent.channel-deny': 'kept somebody from talking to {}',
  'agent.channel-off': 'closed a channel of {}',
  'agent.channel-on': 'opened a channel of {}',
  'agent.channel-remove': 'took the right to talk to {} from somebody',
  'agent.restore': 'brought {} back from a backup',
  'agent.restore-snapshot': 'had {} go back to a snapshot',
  'agent.rotate-gateway-token': 'changed the token of {}',
  'agent.rotate-platform-token': 'changed the platform token of {}',
  'agent.stop': 'stopped {}',
  'agents.pause': 'paused {}',
  'agents.resume': 'let {} go on',
  'approval.allowed': 'allowed a tool to {}',
  'approval.approved': 'allowed a tool to {}',
  'approval.denied': 'refused a tool to {}',
  'approval.expired': 'let a question of {} expire',
  'approval.used': 'used an approval',
  'backup.backup': 'ordered a backup',
  'backup.download': 'downloaded the backup {}',
  'backup.drill': 'ordered a trial of the backup {}',
  'backup.restore': 'ordered an agent to be brought back from the backup {}',
  'backup.settings': 'changed when and where backups are made',
  'backup.verify': 'ordered a check of the backup {}',
  'bus.replay': 'sent the dead letter {} again',
  'clone.payment.restored': 'found the payment for the clone {} again',
  'clone.payment.undone': 'saw the payment for the clone {} taken back',
  'installation.adopted': 'took over the agents of the installation at {}',
  'invite.create': 'made the invitation {}',
  'invite.withdraw': 'took back the invitation {}',
  'job.retry': 'had the job {} tried again',
  'key.rotated': 'changed the encryption key',
  'key.sealed-dropped': 'dropped secrets that a lost encryption key sealed',
  'plan.change': 'changed the limits of the plan {}',
  'plan.create': 'created the plan {}',
  'plan.delete': 'deleted the plan {}',
  'plan.reset': 'reset the plan {} to PLANS_FILE',
  'prices.deleted': 'deleted the price of {}',
  'prices.set': 'set the price of {}',
  'services.mail-forgotten': 'took the mail server away',
  'services.mail-set': 'set the mail server',
  'services.provider-forgotten': 'took the key of the provider {} away',
  'services.provider-set': 'set the key of the provider {}',
  'sign-in.create': 'opened an account by another way to sign in',
  'sign-in.link': 'linked another way to sign in',
  'subscription.duplicate': 'ended a second subscription of {}',
  'two-factor.disable': 'removed the second factor of {}',
  'two-factor.enable': 'set up a second factor for {}',
  'two-factor.renew-recovery-codes': 'made new recovery codes for {}',
  'two-factor.use-recovery-code': 'signed in with a recovery code',
  'wallet.created': 'made the wallet {}',
  'wallet.exported': 'exported the key of the wallet {}',
  'wallet.payment': 'ordered a payment from the wallet {}',
  'wallet.payment.approved': 'approved a payment from the wallet {}',
  'wallet.payment.denied': 'refused a payment from the wallet {}',
  'wallet.payment.resolved': 'settled an unclear payment from the wallet {}',
  'wallet.payment.undone': 'saw a payment from the wallet {} taken back',
  'wallet.policy': 'changed what the wallet {} may pay',
  'x402.pay': 'had {} pay',
}

const SCOPES: Readonly<Record<string, string>> = {
  owner: 'all agents of one owner',
  installation: 'all agents of this server',
}

type Entry = { actor: string; action: string; target: string }
type Names = Readonly<Record<string, string>>

/** An entry as a sentence without its point; an action without words of its own is told as it is called. */
export function describeEntry({ actor, action, target }: Entry, names: Names): string {
  const words = SENTENCES[action] ?? `${action} {}`
  return `${nameActor(actor, names)} ${words.replace('{}', nameTarget({ actor, target }, names))}`
}

function nameActor(actor: string, names: Names): string {
  return ACTORS[actor] ?? names[actor] ?? `${actor}, which is gone,`
}

function nameTarget({ actor, target }: Pick<Entry, 'actor' | 'target'>, names: Names): string {
  if (target === actor) return 'their own account'
  return names[target] ?? SCOPES[target] ?? target
}
