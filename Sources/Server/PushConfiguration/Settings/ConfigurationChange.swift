/// A difference between two configurations.
package struct ConfigurationChange: Sendable, Equatable, CustomStringConvertible {
    package let path: String
    /// The old value; nil if the setting is new.
    package let was: String?
    /// The new value; nil if the setting was removed.
    package let now: String?
    package let reload: Reload

    package var description: String {
        switch (was, now) {
        case (let was?, let now?): "\(path): \(was) → \(now): \(reload.effect)"
        case (nil, let now?): "\(path): added, \(now): \(reload.effect)"
        case (let was?, nil): "\(path): removed, was \(was): \(reload.effect)"
        case (nil, nil): path
        }
    }
}
