import type { ErrorCodes } from './error-code.ts'

/** What is paid, and requests that count once. */
export const MONEY_CODES = {
  IDEMPOTENCY_IN_PROGRESS: {
    kinds: ['conflict'],
    means: 'The first request with this `Idempotency-Key` is under way.',
    remedy: 'Send it again a little later.',
  },
  IDEMPOTENCY_MISMATCH: {
    kinds: ['conflict'],
    means: 'The `Idempotency-Key` was used for another request.',
    remedy: 'Use a new key.',
  },
  INVALID_PLAN: {
    kinds: ['invalid'],
    means: 'There is no plan of this name.',
    remedy: 'Take a name of `GET /api/billing`.',
  },
  ALREADY_SUBSCRIBED: { kinds: ['conflict'], means: 'There is a subscription already.', remedy: 'Change that one.' },
  CARDS_FAILED: {
    kinds: ['upstream_failed'],
    means: 'The card service refused.',
    remedy: 'Read the message; try again.',
  },
  CARDS_UNAVAILABLE: { kinds: ['unavailable'], means: 'The card service does not answer.', remedy: 'Try again later.' },
  INSUFFICIENT_FUNDS: {
    kinds: ['payment_required'],
    means: 'The balance on the ledger is too low.',
    remedy: 'Buy credits.',
  },
  INSUFFICIENT_BALANCE: {
    kinds: ['payment_required'],
    means: 'The wallet holds too little.',
    remedy: 'Send money to its address.',
  },
  NO_WALLET: { kinds: ['payment_required'], means: 'The agent has no wallet to pay from.', remedy: 'Create one.' },
  WALLET_FROZEN: { kinds: ['forbidden'], means: 'The owner has frozen the wallet.', remedy: 'Unfreeze it.' },
  LIMIT_EXCEEDED: {
    kinds: ['forbidden'],
    means: 'The policy of the wallet does not allow this much.',
    remedy: 'Raise the limit, or pay less.',
  },
  RECIPIENT_NOT_ALLOWED: {
    kinds: ['forbidden'],
    means: 'The policy of the wallet does not allow this recipient.',
    remedy: 'Add the recipient to the policy.',
  },
  APPROVAL_REQUIRED: {
    kinds: ['payment_required', 'forbidden'],
    means: 'The payment needs the approval of the owner.',
    remedy: 'Approve it, then send the same request again. If it has ended, send the request first.',
  },
  NOT_PAYABLE: {
    kinds: ['payment_required'],
    means: 'What the seller asks cannot be read, or is more than may be paid.',
    remedy: 'Raise `maxAmount`, or choose another seller.',
  },
  PAYMENT_FAILED: {
    kinds: ['payment_required'],
    means: 'The payment was not made.',
    remedy: 'Read the reason; order it anew.',
  },
  PAYMENT_REFUSED: {
    kinds: ['payment_required'],
    means: 'The payment that was shown cannot be taken.',
    remedy: 'Pay as the answer to a request without payment says.',
  },
  PAYMENT_NOT_VERIFIED: {
    kinds: ['payment_required'],
    means: 'The transaction is not on the chain as it should be.',
    remedy: 'Wait until it is confirmed, or pay.',
  },
  PAYMENT_USED: {
    kinds: ['payment_required', 'conflict'],
    means: 'The payment was used already.',
    remedy: 'Pay anew.',
  },
  PAYMENT_OF_OTHER_WORK: {
    kinds: ['conflict'],
    means: 'The payment is for another request.',
    remedy: 'Show it with that request.',
  },
  PAYMENT_REFUNDED: { kinds: ['conflict'], means: 'The payment was given back.', remedy: 'Pay anew.' },
  PAYMENT_IN_PROGRESS: {
    kinds: ['conflict'],
    means: 'The payment is being settled or worked for.',
    remedy: 'Send the same request a little later.',
  },
  PAYMENT_UNDER_WAY: {
    kinds: ['conflict'],
    means: 'The payment is being made.',
    remedy: 'Send the same request a little later.',
  },
  PAYMENT_ORDERED: {
    kinds: ['conflict'],
    means: 'An earlier call with this `Idempotency-Key` has ordered the payment.',
    remedy: 'Look at the payment before ordering anew.',
  },
  PAYMENT_UNKNOWN: {
    kinds: ['unavailable', 'upstream_timeout'],
    means: 'Whether it was paid is not known yet; it is not paid again.',
    remedy: 'Look at the payment later.',
  },
  PAYMENT_MISMATCH: {
    kinds: ['conflict'],
    means: 'The reference names another payment.',
    remedy: 'Use a new reference.',
  },
  NOT_UNKNOWN: {
    kinds: ['conflict'],
    means: 'What became of the payment is known.',
    remedy: 'Nothing: read its status.',
  },
  NOT_YOURS_TO_SAY: {
    kinds: ['conflict'],
    means: 'The chain itself tells what became of the payment.',
    remedy: 'Wait for the chain.',
  },
  NOT_DUE: {
    kinds: ['conflict'],
    means: 'The funds are not due yet; the message says when.',
    remedy: 'Wait until then.',
  },
  SOLD_OUT: { kinds: ['conflict'], means: 'There are no tickets left.', remedy: 'Nothing.' },
  WORK_FAILED: {
    kinds: ['upstream_failed'],
    means: 'The work that was paid for failed; `refund` says where the money went.',
    remedy: 'Order it anew.',
  },
  COPY: {
    kinds: ['unavailable'],
    means: 'This program is a copy of another installation, and pays nothing.',
    remedy: 'Take the house over (`stead adopt`).',
  },
} as const satisfies ErrorCodes
