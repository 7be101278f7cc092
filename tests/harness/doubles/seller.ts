import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodePaymentSignatureHeader, encodePaymentRequiredHeader, encodePaymentResponseHeader } from '@x402/core/http'
import { type Address, type Hex, parseAbi, parseSignature } from 'viem'
import { TaskQueue } from '../../../src/core/concurrency/keyed-queue.ts'
import type { TestChain } from '../chain/test-chain.ts'

const DOLLAR_ABI = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
])

type Behaviour =
  | 'sells'
  | 'is free'
  | 'takes, then cut'
  | 'takes, then 502'
  | 'takes, then asks again'
  | 'asks again without taking'
  | 'says that it took, and did not'

export type SellerDouble = AsyncDisposable & {
  url: string
  behaviour: Behaviour
  /** Overrides fields of the payment requirements. */
  demand: Record<string, unknown>
  /** Payments received. */
  readonly shown: Authorization[]
  /** Number of requests, with and without payment. */
  requests: number
  settle(authorization: Authorization): Promise<Hex>
}
type Authorization = {
  from: Address
  to: Address
  value: string
  validAfter: string
  validBefore: string
  nonce: Hex
  signature: Hex
}

/** Starts a seller of paid responses (x402 version 2) that settles on `chain`. */
export async function startSeller(
  chain: TestChain,
  offer: { chainId: number; token: Address; payTo: Address },
): Promise<SellerDouble> {
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  /** All transactions come from one account, so their nonces must be sequential. */
  const settling = new TaskQueue()
  const seller: SellerDouble = {
    url: `http://127.0.0.1:${port}/report`,
    behaviour: 'sells',
    demand: {},
    shown: [],
    requests: 0,
    settle: ({ from, to, value, validAfter, validBefore, nonce, signature }) => {
      const { r, s, yParity } = parseSignature(signature)
      const args = [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, 27 + yParity, r, s]
      const call = { to: offer.token, abi: DOLLAR_ABI, functionName: 'transferWithAuthorization', args }
      return settling.run(() => chain.call(call))
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return seller

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    seller.requests++
    const header = request.headers['payment-signature']
    if (seller.behaviour === 'is free') return send(response, 200, { report: 'free' })
    if (typeof header !== 'string') return ask(response)
    const payload = decodePaymentSignatureHeader(header).payload as { authorization: Authorization; signature: Hex }
    const authorization = { ...payload.authorization, signature: payload.signature }
    seller.shown.push(authorization)
    if (seller.behaviour === 'asks again without taking') return ask(response)
    const isTaken = seller.behaviour !== 'says that it took, and did not'
    const transaction = isTaken ? await seller.settle(authorization) : `0x${'e'.repeat(64)}`
    if (seller.behaviour === 'takes, then cut') return void response.socket?.destroy()
    if (seller.behaviour === 'takes, then 502') return send(response, 502, { error: 'gone' })
    if (seller.behaviour === 'takes, then asks again') return ask(response)
    const network = `eip155:${offer.chainId}` as const
    const settled = encodePaymentResponseHeader({ success: true, transaction, network, payer: authorization.from })
    send(response, 200, { report: 'paid' }, { 'payment-response': settled })
  }

  function ask(response: ServerResponse): void {
    const requirement = {
      scheme: 'exact',
      network: `eip155:${offer.chainId}` as const,
      asset: offer.token,
      amount: '250000',
      payTo: offer.payTo,
      maxTimeoutSeconds: 60,
      extra: { name: 'USD Coin', version: '2' },
      ...seller.demand,
    }
    const required = { x402Version: 2, resource: { url: seller.url }, accepts: [requirement] }
    send(response, 402, { error: 'Payment required' }, { 'payment-required': encodePaymentRequiredHeader(required) })
  }
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
