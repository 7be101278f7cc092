import { expect, test } from 'bun:test'
import { array, assert, boolean, constantFrom, integer, oneof, property, record } from 'fast-check'
import { decideLink, type LinkDecision, type LinkQuestion } from './enter.ts'

const OPEN = { isDisabled: false, isExternalSignInDisabled: false }
const LOCAL = { ...OPEN, isEmailVerifiedHere: true, hasSubjectOfIssuer: false, hasOtherSignIn: false }
const SQUATTED = { ...LOCAL, isEmailVerifiedHere: false }
const NO_ACCOUNT: LinkQuestion = {
  isEmailVerifiedThere: true,
  isWalletEmail: false,
  linked: null,
  local: null,
  isSignUpOpen: true,
  isMailConfigured: true,
}

const TABLE: [why: string, question: Partial<LinkQuestion>, decision: LinkDecision][] = [
  ['nobody is known', {}, 'create'],
  ['nobody is known and sign-up is not open', { isSignUpOpen: false }, 'refuse'],
  ['the provider does not vouch for the e-mail', { isEmailVerifiedThere: false }, 'refuse'],
  ['… not even for somebody who is linked', { isEmailVerifiedThere: false, linked: OPEN }, 'refuse'],
  ['… nor for an account that has it', { isEmailVerifiedThere: false, local: LOCAL }, 'refuse'],
  ['the subject is linked', { linked: OPEN }, 'sign-in'],
  ['… and sign-up is closed', { linked: OPEN, isSignUpOpen: false }, 'sign-in'],
  ['… and now has the e-mail of another account', { linked: OPEN, local: LOCAL }, 'sign-in'],
  ['… and his account is disabled', { linked: { ...OPEN, isDisabled: true } }, 'refuse'],
  ['… and external sign-in is disabled', { linked: { ...OPEN, isExternalSignInDisabled: true } }, 'refuse'],
  [
    '… and his account is disabled, that of the e-mail is not',
    { linked: { ...OPEN, isDisabled: true }, local: LOCAL },
    'refuse',
  ],
  ['an account proved the same e-mail', { local: LOCAL }, 'link'],
  ['… and sign-up is closed', { local: LOCAL, isSignUpOpen: false }, 'link'],
  ['… and is disabled', { local: { ...LOCAL, isDisabled: true } }, 'refuse'],
  ['… and external sign-in is disabled', { local: { ...LOCAL, isExternalSignInDisabled: true } }, 'refuse'],
  [
    '… and is linked to another subject of the issuer',
    { local: { ...LOCAL, hasSubjectOfIssuer: true, hasOtherSignIn: true } },
    'refuse',
  ],
  ['… and is linked elsewhere', { local: { ...LOCAL, hasOtherSignIn: true } }, 'link'],
  ['an account typed the e-mail and never proved it', { local: SQUATTED }, 'take-over-unverified'],
  ['… and has another way in', { local: { ...SQUATTED, hasOtherSignIn: true } }, 'refuse'],
  ['… and is disabled', { local: { ...SQUATTED, isDisabled: true } }, 'refuse'],
  ['nobody can prove an e-mail here', { local: SQUATTED, isMailConfigured: false }, 'link'],
  [
    '… and the account has another way in',
    { local: { ...SQUATTED, hasOtherSignIn: true }, isMailConfigured: false },
    'refuse',
  ],
  ['the e-mail stands for a wallet', { isWalletEmail: true }, 'refuse'],
  ['… that has an account', { isWalletEmail: true, local: SQUATTED }, 'refuse'],
]

test.each(TABLE)('%s', (_why, change, decision) => {
  expect(decideLink({ ...NO_ACCOUNT, ...change })).toBe(decision)
})

/** A small world: accounts with their credentials, people with their addresses, and a provider that changes its mind. */
type Account = {
  email: string
  isVerified: boolean
  /** The person who knows the password, and the linked subjects. */
  password: string | null
  subjects: { issuer: string; subject: string; person: string; email: string }[]
  wallet: string | null
  isDisabled: boolean
}

const PEOPLE = ['ada', 'bo', 'mallory'] as const
const ISSUERS = ['a', 'b'] as const
const person = constantFrom(...PEOPLE)
const email = constantFrom('ada@x', 'bo@x', 'mallory@x')
const step = oneof(
  record({ kind: constantFrom('register' as const), person, email }),
  record({ kind: constantFrom('wallet' as const), person, email }),
  record({ kind: constantFrom('prove' as const), person }),
  record({ kind: constantFrom('disable' as const), email }),
  record({ kind: constantFrom('retype' as const), person, email }),
  record({
    kind: constantFrom('provider' as const),
    person,
    issuer: constantFrom(...ISSUERS),
    account: integer({ min: 1, max: 2 }),
    email,
    isVerified: boolean(),
  }),
)

test('decideLink gives no one an account that another person verified or uses, in 10,000 random histories', async () => {
  let takeOvers = 0
  await assert(
    property(array(step, { maxLength: 12 }), boolean(), (steps, isSignUpOpen) => {
      const accounts: Account[] = []
      for (const one of steps) {
        if (one.kind !== 'provider') {
          takeStep(accounts, one)
          continue
        }
        // A provider says `verified` only of a person's own address; any other it merely repeats.
        const claimed = one.isVerified ? `${one.person}@x` : one.email
        const subject = `${one.person}-${one.account}`
        const linked = accounts.find(({ subjects }) =>
          subjects.some((s) => s.issuer === one.issuer && s.subject === subject),
        )
        const local = accounts.find((account) => account.email === claimed)
        const before = structuredClone(linked ?? local ?? null)
        const decision = decideLink(ask(one, linked, local, isSignUpOpen))
        const entered = enter(accounts, decision, { ...one, subject, email: claimed }, linked, local)
        if (!entered) continue
        expect(one.isVerified).toBe(true)
        if (linked) expect(entered).toBe(linked)
        if (before?.isDisabled) throw new Error('entered a disabled account')
        if (decision === 'take-over-unverified') takeOvers++
        const strangers = waysIn(entered).filter((who) => who !== one.person)
        expect({ decision, strangers }).toEqual({ decision, strangers: [] })
      }
    }),
    { numRuns: 10_000, seed: 4 },
  )
  expect(takeOvers).toBeGreaterThan(100)
})

/**
 * Returns everyone who can enter an account without its owner; the person who proved the address could reset the
 * password anyway.
 */
function waysIn(account: Account): string[] {
  return [account.password, account.wallet, ...account.subjects.map((subject) => subject.person)].filter(
    (who) => who !== null,
  )
}

type Step =
  | { kind: 'register' | 'wallet' | 'retype'; person: string; email: string }
  | { kind: 'prove'; person: string }
  | { kind: 'disable'; email: string }

/** A step of a person; with mail configured a typed address stays unverified until its owner follows a link. */
function takeStep(accounts: Account[], step: Step): void {
  if (step.kind === 'disable') {
    for (const account of accounts) account.isDisabled ||= account.email === step.email
  } else if (step.kind === 'prove') {
    // The owner of the address follows the link only for their own account.
    for (const account of accounts) {
      const isOwn = waysIn(account).every((who) => who === step.person)
      account.isVerified ||= account.email === `${step.person}@x` && isOwn
    }
  } else if (accounts.some((account) => account.email === step.email)) {
    return
  } else if (step.kind === 'retype') {
    // Before mail was configured, an address could be changed without proof.
    const own = accounts.find((account) => !account.isVerified && waysIn(account).includes(step.person))
    if (own) own.email = step.email
  } else {
    const isWallet = step.kind === 'wallet'
    accounts.push({
      email: step.email,
      isVerified: false,
      password: isWallet ? null : step.person,
      wallet: isWallet ? step.person : null,
      subjects: [],
      isDisabled: false,
    })
  }
}

type Claim = { person: string; issuer: string; subject: string; email: string; isVerified: boolean }

function ask(
  claim: Pick<Claim, 'issuer' | 'isVerified'>,
  linked: Account | undefined,
  local: Account | undefined,
  isSignUpOpen: boolean,
): LinkQuestion {
  const state = ({ isDisabled }: Account) => ({ isDisabled, isExternalSignInDisabled: false })
  return {
    isEmailVerifiedThere: claim.isVerified,
    isWalletEmail: false,
    linked: linked ? state(linked) : null,
    local: local
      ? {
          ...state(local),
          isEmailVerifiedHere: local.isVerified || local.subjects.some((subject) => subject.email === local.email),
          hasSubjectOfIssuer: local.subjects.some(({ issuer }) => issuer === claim.issuer),
          hasOtherSignIn: local.subjects.length > 0 || local.wallet !== null,
        }
      : null,
    isSignUpOpen,
    isMailConfigured: true,
  }
}

/** Completes the sign-in and returns the account of the session. */
function enter(
  accounts: Account[],
  decision: LinkDecision,
  { person, issuer, subject, email: claimed }: Claim,
  linked: Account | undefined,
  local: Account | undefined,
): Account | null {
  if (decision === 'refuse') return null
  if (decision === 'sign-in') return linked ?? null
  const identity = { issuer, subject, person, email: claimed }
  if (decision === 'create') {
    const account = {
      email: claimed,
      isVerified: true,
      password: null,
      wallet: null,
      subjects: [identity],
      isDisabled: false,
    }
    accounts.push(account)
    return account
  }
  if (!local) throw new Error(`${decision} without an account`)
  if (decision === 'take-over-unverified') {
    Object.assign(local, { password: null, wallet: null, subjects: [], isVerified: true })
  }
  local.subjects.push(identity)
  return local
}
