/// The steps `.` and `..` of a path. HTTP refuses a path that has one, also if it is encoded, because a proxy may resolve it
/// to another path. No request could therefore be about a user or a message whose name has one.
package enum DotSteps {
    /// Returns whether a name is such a step, or has one between slashes or backslashes.
    package static func occur(in bytes: some Sequence<UInt8>) -> Bool {
        /// The number of dots of the step so far; -1 if it has another byte.
        var dots = 0
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "/"), UInt8(ascii: "\\"):
                if dots == 1 || dots == 2 { return true }
                dots = 0
            case UInt8(ascii: "."): dots = dots < 0 ? -1 : min(dots + 1, 3)
            default: dots = -1
            }
        }
        return dots == 1 || dots == 2
    }
}
