import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useRouter } from '@tanstack/react-router'
import { Wallet as WalletIcon } from 'lucide-react'
import { ApiError, hasCode } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { signInWithWallet, type Wallet } from './wallet.ts'

type WalletButtonProps = { wallet: Wallet; chainId: number; redirect: string | undefined }

export function WalletButton({ wallet, chainId, redirect }: WalletButtonProps) {
  const client = useQueryClient()
  const router = useRouter()
  const navigate = useNavigate()
  const signing = useMutation({
    mutationFn: () => signInWithWallet(client, wallet, chainId),
    onSuccess: () => router.history.push(redirect ?? '/'),
    onError: (error) => {
      if (!hasCode(error, 'TWO_FACTOR_REQUIRED')) return
      void navigate({ to: '/login', search: { step: 'two-factor', ...(redirect ? { redirect } : {}) } })
    },
  })
  return (
    <>
      <Button className="min-h-10" isPending={signing.isPending} onClick={() => signing.mutate()}>
        {!signing.isPending && <WalletIcon aria-hidden className="size-4" />}
        Continue with wallet
      </Button>
      {signing.isError && <Notice tone="problem">{describe(signing.error)}</Notice>}
    </>
  )
}

/** Wallet errors differ by vendor; the remedy is the same. */
function describe(error: Error): string {
  return error instanceof ApiError ? error.message : 'The wallet did not sign. Unlock it and try again.'
}
