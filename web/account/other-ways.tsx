import { useQuery } from '@tanstack/react-query'
import { buttonClass } from '../ui/button.tsx'
import { providersQuery } from './providers.ts'
import { findWallet } from './wallet.ts'
import { WalletButton } from './wallet-button.tsx'

/** Hides the methods that the server or the browser does not support. */
export function OtherWays({ redirect }: { redirect: string | undefined }) {
  const providers = useQuery(providersQuery).data
  const wallet = findWallet()
  const isWalletOffered = Boolean(providers?.wallet && wallet)
  if (!providers?.idpA && !providers?.idpB && !isWalletOffered) return null
  return (
    <section aria-label="Other ways to sign in" className="grid gap-2.5">
      <p
        aria-hidden
        className="flex items-center gap-3 text-sm text-muted before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line"
      >
        or
      </p>
      {providers?.idpA && (
        <a href="/api/auth/idp-a" className={`${buttonClass('plain')} min-h-10`}>
          Continue with {providers.idpAName ?? 'your code hosting account'}
        </a>
      )}
      {providers?.idpB && (
        <a href="/api/auth/idp-b" className={`${buttonClass('plain')} min-h-10`}>
          Continue with {providers.idpBName ?? 'your identity provider'}
        </a>
      )}
      {providers && wallet && isWalletOffered && (
        <WalletButton wallet={wallet} chainId={providers.siweChainId} redirect={redirect} />
      )}
    </section>
  )
}
