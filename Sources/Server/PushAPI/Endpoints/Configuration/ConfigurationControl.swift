import PushModel

/// The configuration of a running Carillon.
package protocol ConfigurationControl: Sendable {
    /// Returns the configuration in force, and its differences to the file; nil while Carillon starts.
    func configuration() async -> ConfigurationAnswer?
    /// Reads the file again, as SIGHUP does; nil while Carillon starts.
    func reload() async -> ReloadAnswer?
}

extension Problem {
    static var starting: Problem { Problem(.unavailable, detail: "Carillon is starting; try again") }

    /// The problem of a key whose apps are limited, for an operation on all of them.
    static func limited(_ caller: Caller) -> Problem {
        Problem(.forbidden, detail: "the key \(caller.name) is limited to some apps, and this concerns all of them")
    }
}
