import { createPdfReader } from '../../adapters/documents/pdf.ts'
import type { Egress } from '../../adapters/egress/egress.ts'
import { createGitRunner } from '../../adapters/git/runner.ts'
import { createMailReader } from '../../adapters/mail/reader.ts'
import { createRadioProvider } from '../../adapters/media/radio.ts'
import { createVideoProvider } from '../../adapters/media/video.ts'
import { createPageReader } from '../../adapters/pages/reader.ts'
import { createWebSearch } from '../../adapters/search/search.ts'
import { createWorkspaceLinks } from '../../adapters/workspaces/links.ts'
import type { Config } from '../../core/config.ts'
import type { Base } from '../base.ts'
import { createOneAtATime } from './browse/workspace.ts'
import { createFeeds } from './feeds/feeds.ts'

type WebToolsSettings = Pick<Config, 'browseRoot' | 'feeds' | 'radio' | 'search' | 'summarizer' | 'video'>

/** Opens the services that the features of web tools share. */
export function openWebTools(base: Base, settings: WebToolsSettings, { egress }: { egress: Egress }) {
  const { browseRoot, feeds, radio, search, summarizer, video } = settings
  const { allowPrivate, payTo = null } = summarizer
  return {
    allowPrivate,
    payTo,
    browseRoot,
    feeds: createFeeds({ ...base, egress, feeds }),
    git: createGitRunner(),
    mailReader: createMailReader(),
    oneAtATime: createOneAtATime(),
    pages: createPageReader(),
    pdf: createPdfReader(),
    radio: createRadioProvider(radio, base),
    video: createVideoProvider(video, base),
    webSearch: createWebSearch(search, base),
    workspaceLinks: createWorkspaceLinks(base),
  }
}
