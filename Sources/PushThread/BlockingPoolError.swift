/// Why a pool did not take a call. The work has not run.
package struct BlockingPoolError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// As many calls wait as may. Try again later, or ask less.
        case busy
        /// The pool has been shut down.
        case stopped
    }

    package let code: Code
    package let message: String

    package var description: String { message }
}
