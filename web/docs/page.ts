/** The script of the documents. Every page is complete without it. */
import './search.ts'

// The list of pages scrolls separately and is longer than most windows.
document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
