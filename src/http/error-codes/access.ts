import type { ErrorCodes } from './error-code.ts'

/** Codes of accounts, keys, plans and quotas. */
export const ACCESS_CODES = {
  ACCOUNT_DISABLED: {
    kinds: ['forbidden'],
    means: 'The account that the agent belongs to is disabled.',
    remedy: 'Contact the operator.',
  },
  ADDRESS_NOT_ALLOWED: {
    kinds: ['forbidden'],
    means: 'The key may only be used from its allowed addresses, and the request comes from another one.',
    remedy: "Send the request from an allowed address, or change the key's `allowedCidrs`.",
  },
  ADMIN_REQUIRED: {
    kinds: ['forbidden'],
    means: 'Only administrators can do this.',
    remedy: 'Sign in as an administrator.',
  },
  CHALLENGE_REQUIRED: {
    kinds: ['invalid'],
    means: 'The challenge is missing, expired or already used.',
    remedy: 'Request a new challenge and sign it.',
  },
  CREDENTIALS_REFUSED: {
    kinds: ['invalid'],
    means: 'The service refused these credentials in a test request; they were not saved.',
    remedy: 'Correct the credentials.',
  },
  FRESH_SESSION_REQUIRED: {
    kinds: ['unauthenticated'],
    means: 'The last sign-in is too old for this action.',
    remedy: 'Sign in again, then repeat the request.',
  },
  GUARDRAIL_BLOCKED: {
    kinds: ['invalid'],
    means: 'A guardrail of the key or agent blocked the request or the answer.',
    remedy: 'Remove what the message names, or change the guardrails of the key or agent.',
  },
  IdpAuthFailed: {
    kinds: ['unauthenticated'],
    means: 'The identity provider returned no user. The sign-in page shows it as the query parameter `error`.',
    remedy: 'Start the sign-in again.',
  },
  IdpNoEmail: {
    kinds: ['unauthenticated'],
    means: 'The identity provider has no verified e-mail address of the user.',
    remedy: 'Verify the address there, then sign in.',
  },
  IdpTokenFailed: {
    kinds: ['upstream_failed'],
    means: 'The identity provider did not return the user.',
    remedy: 'Try again later.',
  },
  PROOF_REQUIRED: {
    kinds: ['forbidden'],
    means: 'Sign-up requires a proof of work from suspected bots and from networks with many new accounts.',
    remedy: 'Solve `GET /api/auth/challenge` and send it as `proof`.',
  },
  SCOPE_REQUIRED: {
    kinds: ['forbidden'],
    means: 'The key does not have the scope that the route needs.',
    remedy: 'Use a key with that scope, or an unrestricted key.',
  },
  SET_BY_ENVIRONMENT: {
    kinds: ['conflict'],
    means: 'A setting of the operator defines this value and takes precedence.',
    remedy: 'Change or remove the setting.',
  },
  SETUP_REQUIRED: {
    kinds: ['forbidden'],
    means: 'There is no account yet.',
    remedy: 'Open the setup link that Stead printed at its start.',
  },
  SIGN_IN_EXPIRED: {
    kinds: ['unauthenticated'],
    means: 'The first step of the sign-in has expired.',
    remedy: 'Start the sign-in again.',
  },
  TWO_FACTOR_REQUIRED: {
    kinds: ['unauthenticated'],
    means: 'The account has a second factor.',
    remedy: 'Send the `code`, too.',
  },
  TWO_FACTOR_INVALID: {
    kinds: ['unauthenticated'],
    means: 'The code is wrong or was already used.',
    remedy: 'Send the current code, or a recovery code.',
  },
  VERIFICATION_FAILED: {
    kinds: ['invalid'],
    means: 'The proof is not valid.',
    remedy: 'Create the proof with the named wallet and send it again.',
  },
  PLAN_REQUIRED: {
    kinds: ['payment_required'],
    means: 'The account has no plan, or the plan does not include this.',
    remedy: 'Choose a plan at `/pricing`.',
  },
  SUBSCRIPTION_REQUIRED: {
    kinds: ['payment_required'],
    means: 'There is no active subscription.',
    remedy: 'Choose or renew a plan.',
  },
  PAYMENT_REQUIRED: {
    kinds: ['payment_required'],
    means: 'Provisioning needs a paid plan.',
    remedy: 'Choose a paid plan.',
  },
  AGENT_LIMIT_REACHED: {
    kinds: ['limited'],
    means: "The plan's limit of agents is reached: `current` of `limit`.",
    remedy: 'Delete an agent, or choose a larger plan.',
  },
  QUOTA_EXCEEDED: {
    kinds: ['limited'],
    means: 'The tokens or the credits of the month are used up.',
    remedy: 'Wait until `windowEnd`, buy credits, or choose a larger plan.',
  },
  KEY_QUOTA_EXCEEDED: {
    kinds: ['limited'],
    means: 'The monthly budget or tokens of this key are used up.',
    remedy: 'Raise the limits of the key, or wait for the next month.',
  },
  END_USER_QUOTA_EXCEEDED: {
    kinds: ['limited'],
    means: 'The monthly budget that the key sets for each of its end users is used up for this one.',
    remedy: 'Raise `endUserBudgetUsd` of the key, or wait for the next month.',
  },
  AGENT_CAP_REACHED: {
    kinds: ['limited'],
    means: 'The daily cap of the agent is reached.',
    remedy: 'Raise the cap, or wait until midnight UTC.',
  },
  AGENT_PAUSED: {
    kinds: ['limited'],
    means: 'The owner or operator paused model calls of the agent.',
    remedy: 'Resume the agent.',
  },
  MODEL_RESTRICTED: {
    kinds: ['forbidden'],
    means: 'The plan or the key does not include this model.',
    remedy: 'Choose a model from `GET /v1/models`.',
  },
  TOOL_UNPRICED: {
    kinds: ['forbidden'],
    means: 'The request lists a tool of the vendor whose cost is not reported, and the caller has a budget.',
    remedy: 'Leave the tool out, or use a key without a budget.',
  },
  STORAGE_FULL: {
    kinds: ['storage_full'],
    means: 'The storage of the plan is used up.',
    remedy: 'Delete files, or buy storage.',
  },
  DISK_FULL: {
    kinds: ['storage_full'],
    means: 'The disk of the server is full.',
    remedy: 'Try again later; the operator frees space.',
  },
  EXPORT_RUNNING: {
    kinds: ['limited'],
    means: 'Another export of the same caller is running.',
    remedy: 'Wait until it ends.',
  },
  NOT_CONFIGURED: {
    kinds: ['unavailable'],
    means: 'The feature is not configured; the message names the settings.',
    remedy: 'Set them and restart; see [Configuration](configuration.md).',
  },
} as const satisfies ErrorCodes
