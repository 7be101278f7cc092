import { and, eq, inArray, isNull } from 'drizzle-orm'
import type { z } from 'zod'
import { tryMailServer } from '../../../adapters/mail/mail.ts'
import type { AiProvider } from '../../../adapters/models/provider.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { redact } from '../../../core/log.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import {
  forgetServiceCredential,
  MAIL,
  type MailOptions,
  setServiceCredential,
} from '../../accounts/service-credentials/service-credentials.ts'
import { users } from '../../accounts/users/tables.ts'
import type { AccountRules } from '../../accounts/users/users.ts'
import type { Catalogue } from '../../ai/catalogue/catalogue.ts'
import { type ServiceProviders, toCredentialName, toCustomName } from '../../ai/gateway/providers.ts'
import { type OpenProvider, tryKey, tryProvider } from '../../ai/own-keys/own-keys.ts'
import type { Base } from '../../base.ts'
import type { Administrator } from '../accounts/change-account.ts'
import { findOllama, requireCustomId, toProviderTest, tryCustomProvider } from './custom-provider.ts'
import {
  type MailRequest,
  ProviderKeyRequest,
  type ProviderRequest,
  type ProviderTest,
  type Services,
} from './schemas.ts'

const TRIAL_MS = 10_000

export type ServicesDeps = Base & {
  serviceProviders: ServiceProviders
  openProvider: OpenProvider
  catalogue: Pick<Catalogue, 'list' | 'rebuild' | 'refresh'>
  mailOptions: MailOptions
  rules: Pick<AccountRules, 'adminEmails'>
}

/** Returns the services with stored credentials and the origin of each. */
export async function showServices(deps: ServicesDeps): Promise<Services> {
  const { serviceProviders, catalogue, mailOptions } = deps
  const models = Map.groupBy(catalogue.list(), ({ provider }) => provider.id)
  const { smtpUrl, from } = mailOptions.read()
  const describe = (id: string) => ({
    id,
    source: serviceProviders.sourceOf(id),
    models: models.get(id)?.length ?? 0,
  })
  const countUnpriced = (id: string) => models.get(id)?.filter(({ price }) => price === null).length ?? 0
  const custom = serviceProviders.listCustom()
  const isUsed = serviceProviders.all.some(({ id }) => id === 'ollama')
  return {
    providers: [
      ...serviceProviders.known.map(({ id }) => describe(id)),
      ...custom.map(({ id, baseUrl, label, apiKey }) => ({
        ...{ ...describe(id), baseUrl, label, hasKey: apiKey !== undefined },
        ...(countUnpriced(id) > 0 && { unpriced: countUnpriced(id) }),
      })),
      // Ollama set by OLLAMA_BASE_URL or found at startup.
      ...(isUsed && !custom.some(({ id }) => id === 'ollama')
        ? [
            {
              ...describe('ollama'),
              label: 'Ollama',
              ...(countUnpriced('ollama') > 0 && { unpriced: countUnpriced('ollama') }),
            },
          ]
        : []),
    ],
    ollama: isUsed ? null : await findOllama(deps.openProvider),
    mail: { source: mailOptions.source(), server: smtpUrl ? new URL(smtpUrl).host : null, from: smtpUrl ? from : null },
  }
}

/**
 * Stores a provider's key after the provider accepted it; it takes effect at once.
 * @throws AppError `not_found` for a provider that cannot be configured, `conflict` SET_BY_ENVIRONMENT, `invalid`
 * CREDENTIALS_REFUSED, and errors of a provider that cannot be reached; nothing is stored then.
 */
export async function setProvider(
  deps: ServicesDeps,
  by: Administrator,
  id: string,
  request: ProviderRequest,
): Promise<void> {
  if (!deps.serviceProviders.known.some((provider) => provider.id === id))
    return setCustomProvider(deps, by, id, request)
  if (request.baseUrl !== undefined) {
    throw new AppError(
      'invalid',
      `The setting ${id.toUpperCase()}_BASE_URL says where ${id} is asked: leave baseUrl out`,
    )
  }
  const { apiKey } = parseOrRefuse(ProviderKeyRequest, request)
  requireProvider(deps, id)
  const provider = deps.openProvider(id, apiKey)
  if (!provider) throw new AppError('not_found', 'There is no such provider')
  await requireAccepted(provider)
  await change(deps, by, { action: 'services.provider-set', target: id }, (tx) =>
    setServiceCredential(deps, tx, toCredentialName(id), apiKey),
  )
  await reload(deps)
}

/** Stores a custom provider after it listed its models. @throws AppError as `tryCustomProvider`. */
async function setCustomProvider(deps: ServicesDeps, by: Administrator, id: string, request: ProviderRequest) {
  if (request.baseUrl === undefined && deps.serviceProviders.sourceOf(id) === null) throw noSuchProvider()
  requireCustomId(id)
  requireOwnCustom(deps, id)
  const { kept } = await tryCustomProvider(deps, id, request)
  const detail = { baseUrl: kept.baseUrl, hasKey: kept.apiKey !== undefined }
  await change(deps, by, { action: 'services.provider-set', target: id, detail }, (tx) =>
    setServiceCredential(deps, tx, toCustomName(id), JSON.stringify(kept)),
  )
  await reload(deps)
}

/** Tests a provider without storing anything. @throws AppError as `tryCustomProvider`. */
export async function testProvider(deps: ServicesDeps, id: string, request: ProviderRequest): Promise<ProviderTest> {
  requireCustomId(id)
  return toProviderTest(await tryCustomProvider(deps, id, request))
}

function requireOwnCustom({ serviceProviders }: ServicesDeps, id: string): void {
  if (serviceProviders.sourceOf(id) !== 'environment') return
  throw setByEnvironment(
    id === 'ollama' ? 'OLLAMA_BASE_URL' : `PROVIDER_${id.toUpperCase().replaceAll('-', '_')}_BASE_URL`,
  )
}

function noSuchProvider(): AppError {
  return new AppError('not_found', 'There is no such provider')
}

function parseOrRefuse<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'Invalid request')
}

/** Removes a provider's configuration; it is no longer called. @throws AppError as `setProvider`. */
export async function forgetProvider(deps: ServicesDeps, by: Administrator, id: string): Promise<void> {
  if (deps.serviceProviders.listCustom().some((provider) => provider.id === id)) {
    requireOwnCustom(deps, id)
    await change(deps, by, { action: 'services.provider-forgotten', target: id }, (tx) =>
      forgetServiceCredential(tx, toCustomName(id)),
    )
    return reload(deps)
  }
  requireProvider(deps, id)
  await change(deps, by, { action: 'services.provider-forgotten', target: id }, (tx) =>
    forgetServiceCredential(tx, toCredentialName(id)),
  )
  await reload(deps)
}

/**
 * Stores the mail settings after the mail server accepted the credentials.
 * @throws AppError `conflict` SET_BY_ENVIRONMENT, `invalid` CREDENTIALS_REFUSED with the server's message; nothing is
 * stored then.
 */
export async function setMail(deps: ServicesDeps, by: Administrator, given: MailRequest): Promise<void> {
  requireOwnMail(deps)
  await tryMailServer(given.smtpUrl).catch((error) => {
    throw refused(`The mail server was tried and cannot be used: ${redact(errorMessage(error))}`, error)
  })
  const detail = { server: new URL(given.smtpUrl).host, from: given.from }
  await change(deps, by, { action: 'services.mail-set', target: MAIL, detail }, (tx) => {
    setServiceCredential(deps, tx, MAIL, JSON.stringify(given))
    // With mail, ADMIN_EMAILS applies to verified addresses only; the row keeps this administrator's role.
    tx.update(users).set({ isAdmin: true }).where(eq(users.id, by.id)).run()
  })
  deps.mailOptions.reload()
}

/**
 * Removes the mail settings; no mail is sent afterwards.
 * @throws AppError `conflict` SET_BY_ENVIRONMENT, or when the change would make a user with an unverified address an
 * administrator.
 */
export async function forgetMail(deps: ServicesDeps, by: Administrator): Promise<void> {
  requireOwnMail(deps)
  await change(deps, by, { action: 'services.mail-forgotten', target: MAIL }, (tx) => {
    if (deps.mailOptions.source() === 'dashboard') requireProvedAdmins(tx, deps.rules.adminEmails)
    forgetServiceCredential(tx, MAIL)
  })
  deps.mailOptions.reload()
}

/**
 * Without mail, an unverified address in ADMIN_EMAILS grants the administrator role, so a user who only typed one would
 * gain it.
 */
function requireProvedAdmins(tx: Tx, adminEmails: readonly string[]): void {
  const isUnproved = and(
    inArray(users.email, [...adminEmails]),
    isNull(users.emailVerifiedAt),
    eq(users.isAdmin, false),
  )
  const unproved = tx.select({ email: users.email }).from(users).where(isUnproved).all()
  if (unproved.length === 0) return
  const names = unproved.map(({ email }) => email).join(', ')
  throw new AppError(
    'conflict',
    `Without mail ${names} would administer here, by an address of ADMIN_EMAILS that nobody has proved: make them an administrator, or delete the account, first`,
  )
}

function requireProvider({ serviceProviders }: ServicesDeps, id: string): void {
  if (!serviceProviders.known.some((provider) => provider.id === id)) {
    throw new AppError('not_found', 'There is no such provider')
  }
  if (serviceProviders.sourceOf(id) === 'environment') throw setByEnvironment(`${id.toUpperCase()}_API_KEY`)
}

function requireOwnMail({ mailOptions }: ServicesDeps): void {
  if (mailOptions.source() === 'environment') throw setByEnvironment('SMTP_URL')
}

function setByEnvironment(name: string): AppError {
  return new AppError('conflict', `The setting ${name} says it already: change it there`, {
    code: 'SET_BY_ENVIRONMENT',
  })
}

function refused(message: string, cause: unknown): AppError {
  return new AppError('invalid', message, { code: 'CREDENTIALS_REFUSED' }, { cause })
}

/**
 * Verifies that the provider accepts its key; OpenRouter lists its models without a valid key.
 * @throws AppError as `tryKey`.
 */
async function requireAccepted(provider: AiProvider): Promise<void> {
  await tryProvider(provider, TRIAL_MS, (signal) => provider.listModels(signal))
  await tryKey(provider, TRIAL_MS)
}

type Line = { action: string; target: string; detail?: Record<string, unknown> }

async function change({ db, clock }: ServicesDeps, by: Administrator, line: Line, work: (tx: Tx) => void) {
  await write(db, (tx) => {
    work(tx)
    recordAudit(tx, { ...line, actor: by.id, address: by.address }, clock.now())
  })
}

async function reload({ serviceProviders, catalogue }: ServicesDeps): Promise<void> {
  serviceProviders.reload()
  catalogue.rebuild()
  await catalogue.refresh(AbortSignal.timeout(TRIAL_MS))
}
