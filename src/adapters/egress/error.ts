import { AppError, type ErrorKind } from '../../core/errors.ts'

/**
 * Why an outbound request gave nothing. `unreachable`: refused by us, by the other side or by the network, or no answer in
 * time; which of these is told only by `cause`, for the log. `timeout`: the answer began and did not end in time.
 * `too_large`: more bytes than allowed, packed or unpacked. `wrong_type`: a media type nobody asked for.
 * `broken`: cut off, or packed in a way that cannot be read.
 */
export type EgressFailure = 'unreachable' | 'timeout' | 'too_large' | 'wrong_type' | 'broken'

const KINDS: Readonly<Record<EgressFailure, ErrorKind>> = {
  unreachable: 'upstream_failed',
  timeout: 'upstream_timeout',
  too_large: 'upstream_failed',
  wrong_type: 'upstream_failed',
  broken: 'upstream_failed',
}

const WORDS: Readonly<Record<EgressFailure, string>> = {
  unreachable: 'Could not reach',
  timeout: 'No complete answer in time from',
  too_large: 'Too much content at',
  wrong_type: 'No acceptable content at',
  broken: 'Could not read the answer of',
}

/** What the egress client throws; `url` is the one that the caller asked for, never where a redirect led. */
export class EgressError extends AppError {
  readonly failure: EgressFailure
  constructor(failure: EgressFailure, url: string, options: ErrorOptions = {}) {
    super(KINDS[failure], `${WORDS[failure]} ${url}`, {}, options)
    this.failure = failure
  }
}
