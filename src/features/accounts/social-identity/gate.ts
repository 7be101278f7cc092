import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'

type Address = `0x${string}`

type TokenGateOptions = {
  /** Address of the token's contract. */
  address: string | undefined
  rpcUrl: string | undefined
  minBalance: bigint
  token: string
}

export type TokenGate = {
  /** The requirement, for responses. */
  readonly terms: { minBalance: string; token: string; chain: 'base' }
  /** `rpcEndpoint` is without its path, which may contain a key. @throws AppError `unavailable` NOT_CONFIGURED. */
  describe(): { contractAddress: string; rpcEndpoint: string }
  /**
   * Returns whether `address` holds enough of the token. Ownership of the address is not proved, so this alone must not
   * grant access.
   * @throws AppError `unavailable` when not configured or the chain cannot be asked.
   */
  isOpenFor(address: Address): Promise<boolean>
}

/** How long a balance is cached. */
const CACHE_MS = 30_000
const MAX_CACHED = 1000

/** Gates access by the balance of one ERC-20 token on Base. */
export function createTokenGate(
  options: TokenGateOptions,
  deps: { clock: Clock; readBalance: (token: Address, owner: Address) => Promise<bigint> },
): TokenGate {
  const known = new Map<string, { balance: bigint; until: number }>()
  const now = () => deps.clock.now().getTime()

  const requireSettings = () => {
    const { address: contract, rpcUrl } = options
    if (contract && rpcUrl) return { contract, rpcUrl }
    throw new AppError('unavailable', 'Token gating is not configured: set TOKEN_GATING_ADDRESS and BASE_RPC_URL', {
      code: 'NOT_CONFIGURED',
    })
  }
  const balanceOf = async (contract: Address, owner: Address): Promise<bigint> => {
    const cached = known.get(owner)
    if (cached && cached.until > now()) return cached.balance
    const balance = await deps.readBalance(contract, owner)
    if (known.size >= MAX_CACHED) known.clear()
    known.set(owner, { balance, until: now() + CACHE_MS })
    return balance
  }

  return {
    terms: { minBalance: options.minBalance.toString(), token: options.token, chain: 'base' },
    describe() {
      const { contract, rpcUrl } = requireSettings()
      return { contractAddress: contract, rpcEndpoint: new URL(rpcUrl).origin }
    },
    async isOpenFor(address) {
      const { contract } = requireSettings()
      return (await balanceOf(toLowerCase(contract), toLowerCase(address))) >= options.minBalance
    },
  }
}

/** Lower case skips the checksum that mixed case implies: people paste addresses in any case. */
function toLowerCase(address: string): Address {
  return `0x${address.slice(2).toLowerCase()}`
}
