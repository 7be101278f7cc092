/** Errors before a request is sent: DNS, routing, connection, certificate. */
const UNSENT =
  /^(?:E(?:CONNREFUSED|NOTFOUND|AI_\w+|HOSTUNREACH|NETUNREACH)|CERT_\w+|UNABLE_TO_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|ERR_TLS_\w+)$/

/** Returns whether `fetch` failed before sending, so the request cannot have cost anything. */
export function isUnsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && UNSENT.test(error.code)
}
