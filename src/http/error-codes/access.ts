import type { ErrorCodes } from './error-code.ts'

/** Who may: accounts, keys, plans and quotas. */
export const ACCESS_CODES = {
  ACCOUNT_DISABLED: {
    kinds: ['forbidden'],
    means: 'The account that the agent belongs to is disabled.',
    remedy: 'Ask the operator.',
  },
  ADMIN_REQUIRED: {
    kinds: ['forbidden'],
    means: 'Only administrators may do this.',
    remedy: 'Sign in as an administrator.',
  },
  CHALLENGE_REQUIRED: {
    kinds: ['invalid'],
    means: 'The challenge was used, has expired or is missing.',
    remedy: 'Ask for a new one and sign that.',
  },
  CREDENTIALS_REFUSED: {
    kinds: ['invalid'],
    means: 'The service was tried with these credentials, and did not accept them; nothing was kept.',
    remedy: 'Correct them.',
  },
  FRESH_SESSION_REQUIRED: {
    kinds: ['unauthenticated'],
    means: 'The last sign-in is too long ago for this.',
    remedy: 'Sign in again, then repeat the request.',
  },
  IdpAuthFailed: {
    kinds: ['unauthenticated'],
    means: 'The identity provider sent nobody back; it stands as `error` in the address of the sign-in page.',
    remedy: 'Begin the sign-in anew.',
  },
  IdpNoEmail: {
    kinds: ['unauthenticated'],
    means: 'The identity provider knows no confirmed address of the person.',
    remedy: 'Confirm the address there, then sign in.',
  },
  IdpTokenFailed: {
    kinds: ['upstream_failed'],
    means: 'The identity provider did not say who signed in.',
    remedy: 'Try again later.',
  },
  PROOF_REQUIRED: {
    kinds: ['forbidden'],
    means:
      'Sign-up takes a proof of work from callers that look like bots, and from a network that has opened many accounts.',
    remedy: 'Solve `GET /api/auth/challenge` and send it as `proof`.',
  },
  SCOPE_REQUIRED: {
    kinds: ['forbidden'],
    means: 'The key does not have the scope that the route takes.',
    remedy: 'Use a key with that scope, or one without limits.',
  },
  SET_BY_ENVIRONMENT: {
    kinds: ['conflict'],
    means: 'A setting of the operator says it already, and that counts first.',
    remedy: 'Change the setting, or take it away.',
  },
  SETUP_REQUIRED: {
    kinds: ['forbidden'],
    means: 'There is no account yet.',
    remedy: 'Open the setup link that the start has printed.',
  },
  SIGN_IN_EXPIRED: {
    kinds: ['unauthenticated'],
    means: 'The first step of the sign-in is too long ago.',
    remedy: 'Begin the sign-in anew.',
  },
  TWO_FACTOR_REQUIRED: {
    kinds: ['unauthenticated'],
    means: 'The account has a second factor.',
    remedy: 'Send the `code` as well.',
  },
  TWO_FACTOR_INVALID: {
    kinds: ['unauthenticated'],
    means: 'The code is wrong, or was used.',
    remedy: 'Send the current code, or a recovery code.',
  },
  VERIFICATION_FAILED: {
    kinds: ['invalid'],
    means: 'The proof does not show what it should.',
    remedy: 'Make the proof with the named wallet and send it again.',
  },
  PLAN_REQUIRED: {
    kinds: ['payment_required'],
    means: 'The plan does not include this, or there is none.',
    remedy: 'Choose a plan at `/pricing`.',
  },
  SUBSCRIPTION_REQUIRED: {
    kinds: ['payment_required'],
    means: 'There is no active subscription.',
    remedy: 'Choose or renew a plan.',
  },
  PAYMENT_REQUIRED: {
    kinds: ['payment_required'],
    means: 'Provisioning takes a paid plan.',
    remedy: 'Choose a paid plan.',
  },
  AGENT_LIMIT_REACHED: {
    kinds: ['limited'],
    means: 'The plan has no room for another agent: `current` of `limit`.',
    remedy: 'Delete an agent, or choose a larger plan.',
  },
  QUOTA_EXCEEDED: {
    kinds: ['limited'],
    means: 'The tokens or the credits of the month are used up.',
    remedy: 'Wait until `windowEnd`, buy credits, or choose a larger plan.',
  },
  KEY_QUOTA_EXCEEDED: {
    kinds: ['limited'],
    means: 'The budget or tokens of this key are used up for the month.',
    remedy: 'Raise the limits of the key, or wait for the next month.',
  },
  AGENT_CAP_REACHED: {
    kinds: ['limited'],
    means: 'The daily cap of the agent is reached.',
    remedy: 'Raise it, or wait until midnight UTC.',
  },
  AGENT_PAUSED: {
    kinds: ['limited'],
    means: 'The owner or the operator keeps the agent from models.',
    remedy: 'Resume it.',
  },
  MODEL_RESTRICTED: {
    kinds: ['forbidden'],
    means: 'The plan or the key does not include this model.',
    remedy: 'Use another model of `GET /v1/models`.',
  },
  STORAGE_FULL: {
    kinds: ['storage_full'],
    means: 'The space of the plan is used up.',
    remedy: 'Delete files, or buy storage.',
  },
  DISK_FULL: {
    kinds: ['storage_full'],
    means: 'The disk of the server is full.',
    remedy: 'Try again later; the operator frees space.',
  },
  EXPORT_RUNNING: {
    kinds: ['limited'],
    means: 'An export of the same caller is under way.',
    remedy: 'Wait until it has ended.',
  },
  NOT_CONFIGURED: {
    kinds: ['unavailable'],
    means: 'The operator has not set what this takes; the message names the settings.',
    remedy: 'Set them ([settings](configuration.md)) and start again.',
  },
} as const satisfies ErrorCodes
