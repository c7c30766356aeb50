import Glibc

/// An error number of the operating system with its text.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    package let number: CInt

    package init(number: CInt) {
        self.number = number
    }

    /// The error of the last failed call on this thread. Read it before any other call.
    package static var current: SystemError { SystemError(number: errno) }

    package var description: String {
        guard let text = unsafe strerror(number) else { return "error \(number)" }
        return unsafe String(cString: text)
    }
}
