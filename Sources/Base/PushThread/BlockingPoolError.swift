/// The reason why a pool rejected a call. The work has not run.
package struct BlockingPoolError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The queue is full. Try again later, or make fewer calls.
        case busy
        /// The pool has been shut down.
        case stopped
    }

    package let code: Code
    package let message: String

    package var description: String { message }
}
