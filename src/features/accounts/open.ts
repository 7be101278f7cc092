import { availableParallelism } from 'node:os'
import { type Chain, createChain } from '../../adapters/chain/chain.ts'
import { createMessenger, createTelegram, createWebhook, type Recipient } from '../../adapters/channels/messenger.ts'
import { createEgress } from '../../adapters/egress/egress.ts'
import { fetchOver } from '../../adapters/egress/fetch.ts'
import { createIdpA } from '../../adapters/identity/idp-a.ts'
import { createIdpB } from '../../adapters/identity/idp-b.ts'
import { createIssuerKeys, wellKnownUrl } from '../../adapters/identity/issuer-keys.ts'
import { createLiveMailer, type Mailer } from '../../adapters/mail/mail.ts'
import type { Config } from '../../core/config.ts'
import type { Tx } from '../../db/open.ts'
import { isLogged } from '../../db/write.ts'
import { createBodies } from '../../http/bodies/unfinished.ts'
import { createIdempotency } from '../../http/idempotency.ts'
import { requireInternalKey } from '../../http/internal-key.ts'
import { createCsrf } from '../../http/sessions/csrf.ts'
import { createGuards } from '../../http/sessions/session.ts'
import type { Base } from '../base.ts'
import { createProofOfWork, DIFFICULTY_BITS } from './bot-detection/bot-detection.ts'
import type { CopyKeyUsage } from './keys/keys.ts'
import { createKeyVerifier } from './keys/verify.ts'
import { createKnownDevices } from './lockout/known-devices.ts'
import { createChannels, enqueueNotification } from './notifications/notify-operators.ts'
import type { Notification } from './notifications/schemas.ts'
import { createSendNotice } from './notifications/send-notice.ts'
import { readClusterWebhookKey, readOrCreateWebhookKey } from './notifications/webhook-key.ts'
import { createPasswords, type PasswordCost } from './passwords/passwords.ts'
import type { GrantCredits } from './referrals/referrals.ts'
import { createSecurityEventVerifier } from './security-events/receive.ts'
import { createMailOptions } from './service-credentials/service-credentials.ts'
import { createSessions } from './sessions/sessions.ts'
import type { TakeOver } from './sign-in/enter.ts'
import { createTokenGate } from './social-identity/gate.ts'
import { createSocialId, createSocialTokens } from './social-identity/tokens.ts'
import { createUserFinder, toSignedInUser } from './users/users.ts'

/**
 * Settings of the domain. `appUrl` is the public URL of the dashboard; `passwordCost` is not configurable, so no
 * setting can weaken it.
 */
type AccountsSettings = { appUrl: string; passwordCost: PasswordCost } & Pick<
  Config,
  | 'adminEmails'
  | 'baseRpcUrl'
  | 'botDetection'
  | 'dataDir'
  | 'idpA'
  | 'idpB'
  | 'internalApiKey'
  | 'isProduction'
  | 'mail'
  | 'mode'
  | 'plannedEndpoints'
  | 'plans'
  | 'requestsPerMinute'
  | 'retentionDays'
  | 'securityEvents'
  | 'signUp'
  | 'siweChainId'
  | 'socialId'
  | 'summarizer'
  | 'tokenGating'
  | 'walletEmailDomain'
  | 'watchdog'
>

/**
 * Opens the services of the domain. `above` are callbacks of higher domains for sign-ups, take-overs of accounts and
 * key rotation.
 */
export function openAccounts(
  base: Base,
  settings: AccountsSettings,
  above: { takeOver: TakeOver; copyKeyUsage: CopyKeyUsage; grantCredits: GrantCredits },
) {
  const { appUrl, plannedEndpoints, requestsPerMinute, siweChainId } = settings
  const chain = createChain({ rpcUrl: settings.baseRpcUrl, chainId: siweChainId })
  const mailOptions = createMailOptions(base, settings.mail)
  const mailer = createLiveMailer({ read: mailOptions.read, writesToLog: !settings.isProduction }, base)
  return {
    ...above,
    appUrl,
    plannedEndpoints,
    requestsPerMinute,
    siweChainId,
    chain,
    mailer,
    mailOptions,
    bodies: createBodies(),
    idempotency: createIdempotency(base),
    ...openUsers(base, settings, mailer),
    ...openSignUp(base, settings),
    ...openIdentities(base, settings, chain),
    ...openNotifications(base, settings),
  }
}

/** Limits for receivers of notices, which owners choose. */
const MESSENGER_TIMEOUT_MS = 10_000
const MESSENGER_ANSWER_BYTES = 65_536

/** Opens users, sessions, API keys, and the guards of both APIs. */
function openUsers(base: Base, settings: AccountsSettings, mailer: Pick<Mailer, 'isConfigured'>) {
  const { db, clock, log, sealer } = base
  const isHttps = settings.appUrl.startsWith('https:')
  const rules = {
    adminEmails: settings.adminEmails,
    get requiresVerifiedEmail() {
      return mailer.isConfigured
    },
  }
  const sessions = createSessions({ db, clock, log, rules })
  const verifyKey = createKeyVerifier({ db, clock, log })
  const findUser = createUserFinder(db, rules)
  const findUserByKey = (key: string, address: string | null) => {
    const holder = verifyKey(key, { address })
    return holder ? { user: toSignedInUser(holder, rules), scopes: holder.scopes } : null
  }
  return {
    isHttps,
    rules,
    sessions,
    verifyKey,
    findUser,
    passwords: createPasswords(Math.max(1, availableParallelism() - 1), settings.passwordCost),
    knownDevices: createKnownDevices({ key: sealer.deriveKey('known-devices'), clock }),
    guards: createGuards({ findUserBySession: sessions.find, findUserByKey }, { isHttps }),
    internalKey: requireInternalKey(settings.internalApiKey, findUser),
    csrf: createCsrf({
      key: sealer.deriveKey('csrf'),
      clock,
      isOwnOrigin: (origin, request) => isOwn(settings.appUrl, origin, request),
    }),
  }
}

/** Returns whether the origin is the configured one or the host of the request. */
function isOwn(appUrl: string, origin: string, request: Request): boolean {
  if (origin === new URL(appUrl).origin) return true
  return URL.canParse(origin) && new URL(origin).host === request.headers.get('host')
}

/** Opens sign-up and bot detection. */
function openSignUp({ db, clock, sealer }: Base, settings: AccountsSettings) {
  const { botDetection, mode, plans, signUp, walletEmailDomain } = settings
  return {
    signUp: { mode: signUp, firstUserIsAdmin: mode === 'home', defaultPlan: plans.byDefault, walletEmailDomain },
    plans,
    botDetection: {
      mode: botDetection,
      proofOfWork: createProofOfWork({
        db,
        clock,
        key: sealer.deriveKey('proof-of-work'),
        difficulty: DIFFICULTY_BITS,
      }),
    },
  }
}

/** Opens identity providers, security events, social identity and token gating. */
function openIdentities(base: Base, settings: AccountsSettings, { readBalance }: Pick<Chain, 'readBalance'>) {
  const { db, clock, sealer } = base
  const { idpA, idpB, retentionDays, securityEvents, socialId, tokenGating } = settings
  const configurationUrl = securityEvents.configurationUrl ?? wellKnownUrl(securityEvents.issuer, 'risc-configuration')
  const socialIssuer = socialId.issuer ?? ''
  return {
    idpB: { issuer: idpB.issuer },
    identityProviders: { 'idp-a': createIdpA(idpA, base), 'idp-b': createIdpB(idpB, base) },
    verifySecurityEvent: createSecurityEventVerifier(securityEvents, {
      keys: createIssuerKeys({ configurationUrls: [configurationUrl] }, base),
      clock,
      rememberedDays: () => retentionDays.securityEvents,
    }),
    socialId: createSocialId(socialId, {
      // Some networks are no OpenID providers and publish only `jwks.json`.
      keys: createIssuerKeys(
        {
          configurationUrls: [
            wellKnownUrl(socialIssuer, 'openid-configuration'),
            wellKnownUrl(socialIssuer, 'jwks.json'),
          ],
        },
        base,
      ),
      clock,
    }),
    socialTokens: createSocialTokens({ db, clock, key: sealer.deriveKey('social-identity') }),
    tokenGate: createTokenGate({ ...tokenGating, rpcUrl: settings.baseRpcUrl }, { clock, readBalance }),
  }
}

/** Opens notifications to operators and owners. Addresses that owners choose are requested through the egress only. */
function openNotifications(base: Base, { dataDir, summarizer, watchdog }: AccountsSettings) {
  const { clock, db, enqueue, log, sealer } = base
  const { telegram, webhook } = watchdog
  const readKey = () =>
    isLogged(db) ? readClusterWebhookKey(db, sealer, dataDir) : readOrCreateWebhookKey(dataDir, log)
  const secret = () => webhook.secret ?? readKey()
  const channels = createChannels({
    telegram: createTelegram(telegram, base),
    webhook: createWebhook({ url: webhook.url, secret }, base),
    clock,
  })
  const egress = createEgress({ allowPrivate: summarizer.allowPrivate })
  const fetchOutside = fetchOver(egress, { timeoutMs: MESSENGER_TIMEOUT_MS, maxBytes: MESSENGER_ANSWER_BYTES })
  return {
    egress,
    sendNotice: createSendNotice(base),
    openMessenger: (recipient: Recipient) =>
      createMessenger(recipient, { telegramApiUrl: telegram.apiUrl, fetch: base.fetch, fetchOutside }),
    channels,
    notify: (tx: Tx, notification: Notification) => enqueueNotification({ clock, enqueue, channels }, tx, notification),
  }
}
