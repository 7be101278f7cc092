/** What is known when somebody comes back from a provider, as one question without names or secrets. */
export type LinkQuestion = {
  /** Does the provider say that the e-mail is verified? Nothing else of its word counts. */
  isEmailVerifiedThere: boolean
  /** The e-mail stands for a wallet, which nobody may have as an address (decisions, 5). */
  isWalletEmail: boolean
  /** The account that (issuer, subject) belongs to. */
  linked: AccountState | null
  /** The account that has the e-mail. */
  local: (AccountState & LocalState) | null
  isSignUpOpen: boolean
  isMailConfigured: boolean
}

type AccountState = { isDisabled: boolean; isExternalSignInDisabled: boolean }
type LocalState = {
  /** Its own e-mail was proved: by a mailed link, or by a provider that it is linked to already. */
  isEmailVerifiedHere: boolean
  /** It is linked to another subject of the same issuer. */
  hasSubjectOfIssuer: boolean
  /** It is linked to a wallet, or to any provider. */
  hasOtherSignIn: boolean
}

export type LinkDecision = 'sign-in' | 'link' | 'take-over-unverified' | 'create' | 'refuse'

/**
 * Which account a sign-in at a provider leads to (decisions, 6). (issuer, subject) decide; the e-mail counts only for
 * somebody who has never been here, and never opens an account that may be another person's.
 */
export function decideLink(question: LinkQuestion): LinkDecision {
  const { linked, local } = question
  if (!question.isEmailVerifiedThere) return 'refuse'
  if (linked) return isOpen(linked) ? 'sign-in' : 'refuse'
  if (question.isWalletEmail) return 'refuse'
  if (!local) return question.isSignUpOpen ? 'create' : 'refuse'
  if (!isOpen(local)) return 'refuse'
  // The provider gave the address to somebody else, or he to himself: a new subject is another person.
  if (local.hasSubjectOfIssuer) return 'refuse'
  if (local.isEmailVerifiedHere) return 'link'
  // Whoever signs in to it otherwise typed an address that was never his to type, and still comes in that way.
  if (local.hasOtherSignIn) return 'refuse'
  return question.isMailConfigured ? 'take-over-unverified' : 'link'
}

function isOpen(account: AccountState): boolean {
  return !account.isDisabled && !account.isExternalSignInDisabled
}
