import type { ErrorCodes } from './error-code.ts'

/** Codes of payments and idempotent requests. */
export const MONEY_CODES = {
  IDEMPOTENCY_IN_PROGRESS: {
    kinds: ['conflict'],
    means: 'The first request with this `Idempotency-Key` is still running.',
    remedy: 'Retry shortly.',
  },
  IDEMPOTENCY_MISMATCH: {
    kinds: ['conflict'],
    means: 'The `Idempotency-Key` was used for another request.',
    remedy: 'Use a new key.',
  },
  INVALID_PLAN: {
    kinds: ['invalid'],
    means: 'No plan has this name.',
    remedy: 'Use a name from `GET /api/billing`.',
  },
  ALREADY_SUBSCRIBED: {
    kinds: ['conflict'],
    means: 'The account already has a subscription.',
    remedy: 'Change that subscription.',
  },
  CARDS_FAILED: {
    kinds: ['upstream_failed'],
    means: 'The card service refused the request.',
    remedy: 'Read the message, then retry.',
  },
  CARDS_UNAVAILABLE: {
    kinds: ['unavailable'],
    means: 'The card service does not respond.',
    remedy: 'Try again later.',
  },
  INSUFFICIENT_FUNDS: {
    kinds: ['payment_required'],
    means: 'The credit balance is too low.',
    remedy: 'Buy credits.',
  },
  INSUFFICIENT_BALANCE: {
    kinds: ['payment_required'],
    means: 'The balance of the wallet is too low.',
    remedy: 'Send money to its address.',
  },
  NO_WALLET: { kinds: ['payment_required'], means: 'The agent has no wallet.', remedy: 'Create one.' },
  WALLET_FROZEN: { kinds: ['forbidden'], means: 'The owner has frozen the wallet.', remedy: 'Unfreeze it.' },
  LIMIT_EXCEEDED: {
    kinds: ['forbidden'],
    means: 'The amount exceeds the policy of the wallet.',
    remedy: 'Raise the limit, or pay less.',
  },
  RECIPIENT_NOT_ALLOWED: {
    kinds: ['forbidden'],
    means: 'The policy of the wallet does not allow this recipient.',
    remedy: 'Add the recipient to the policy.',
  },
  APPROVAL_REQUIRED: {
    kinds: ['payment_required', 'forbidden'],
    means: 'The payment needs an approval of the owner.',
    remedy: 'Approve it, then send the same request again. If it has ended, send the request first.',
  },
  NOT_PAYABLE: {
    kinds: ['payment_required'],
    means: 'The payment request of the seller is not readable or exceeds the maximum.',
    remedy: 'Raise `maxAmount`, or choose another seller.',
  },
  PAYMENT_FAILED: {
    kinds: ['payment_required'],
    means: 'The payment failed.',
    remedy: 'Read the reason, then create a new payment.',
  },
  PAYMENT_REFUSED: {
    kinds: ['payment_required'],
    means: 'The presented payment is not acceptable.',
    remedy: 'Pay as described in the response to a request without payment.',
  },
  PAYMENT_NOT_VERIFIED: {
    kinds: ['payment_required'],
    means: 'The transaction is not on the chain, or does not match.',
    remedy: 'Wait until it is confirmed, or pay.',
  },
  PAYMENT_USED: {
    kinds: ['payment_required', 'conflict'],
    means: 'The payment was already used.',
    remedy: 'Make a new payment.',
  },
  PAYMENT_OF_OTHER_WORK: {
    kinds: ['conflict'],
    means: 'The payment is for another request.',
    remedy: 'Present it with that request.',
  },
  PAYMENT_REFUNDED: { kinds: ['conflict'], means: 'The payment was refunded.', remedy: 'Make a new payment.' },
  PAYMENT_IN_PROGRESS: {
    kinds: ['conflict'],
    means: 'The payment is being settled, or its work is running.',
    remedy: 'Send the same request again shortly.',
  },
  PAYMENT_UNDER_WAY: {
    kinds: ['conflict'],
    means: 'The payment is being made.',
    remedy: 'Send the same request again shortly.',
  },
  PAYMENT_ORDERED: {
    kinds: ['conflict'],
    means: 'An earlier call with this `Idempotency-Key` created the payment.',
    remedy: 'Check that payment before you create another.',
  },
  PAYMENT_UNKNOWN: {
    kinds: ['unavailable', 'upstream_timeout'],
    means: 'The outcome of the payment is not known yet; it is not sent twice.',
    remedy: 'Check the payment later.',
  },
  PAYMENT_MISMATCH: {
    kinds: ['conflict'],
    means: 'The reference names another payment.',
    remedy: 'Use a new reference.',
  },
  NOT_UNKNOWN: {
    kinds: ['conflict'],
    means: 'The outcome of the payment is already known.',
    remedy: 'Read its status.',
  },
  NOT_YOURS_TO_SAY: {
    kinds: ['conflict'],
    means: 'The outcome of the payment is read from the chain.',
    remedy: 'Wait for the confirmation.',
  },
  NOT_DUE: {
    kinds: ['conflict'],
    means: 'The funds are not due yet; the message contains the date.',
    remedy: 'Wait until then.',
  },
  SOLD_OUT: { kinds: ['conflict'], means: 'There are no tickets left.', remedy: 'None.' },
  WORK_FAILED: {
    kinds: ['upstream_failed'],
    means: 'The paid work failed; `refund` contains the refund.',
    remedy: 'Send a new request.',
  },
  COPY: {
    kinds: ['unavailable'],
    means: 'This installation is a standby copy and sends no payments.',
    remedy: 'Take over the installation (`stead adopt`).',
  },
} as const satisfies ErrorCodes
