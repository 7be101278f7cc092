import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { refresh } from '../api/query-client.ts'
import { ApiError } from '../api/request.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { LoadProblem, Notice } from '../ui/notice.tsx'
import { AuthFrame } from './auth-frame.tsx'
import { sessionQuery, verifyEmail } from './session.ts'

const route = getRouteApi('/verify-email')

/** Page `/verify-email?token=`. */
export function VerifyEmailPage() {
  const { token } = route.useSearch()
  return (
    <AuthFrame title="Confirm your email" lead="The link from the email confirms your address.">
      {token ? (
        <Outcome token={token} />
      ) : (
        <Notice tone="problem" title="Incomplete link">
          Open the full link from the email.
        </Notice>
      )}
    </AuthFrame>
  )
}

function Outcome({ token }: { token: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['verify-email', token],
    // The link works once, so the result is never refetched.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
    retry: false,
    queryFn: async () => {
      const { message } = await verifyEmail(token)
      await refresh(sessionQuery)
      return message
    },
  })
  if (data) {
    return (
      <>
        <Notice tone="good" title={data} />
        <GoOn />
      </>
    )
  }
  if (error instanceof ApiError && (error.status === 400 || error.status === 409)) {
    return (
      <>
        <Notice tone="problem" title={error.message}>
          Links work once and expire after one day. Request a new one in your profile.
        </Notice>
        <GoOn />
      </>
    )
  }
  if (error) return <LoadProblem what="the address confirmation" error={error} onRetry={refetch} />
  return (
    <Button isPending look="ghost" className="justify-self-start">
      Confirming your email…
    </Button>
  )
}

function GoOn() {
  return (
    <Link to="/settings" className={`${buttonClass('primary')} min-h-10`}>
      Go to profile
    </Link>
  )
}
