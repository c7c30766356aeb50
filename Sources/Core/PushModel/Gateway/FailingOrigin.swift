/// A push service that nothing is sent to for now, while an app goes on with other ones.
package struct FailingOrigin: Sendable, Equatable {
    /// Its name in the settings of the app.
    package let name: String
    /// Why no connection to it is open; nil if it answers that it fails, or not at all.
    package let fault: ConnectionFault?

    package init(_ name: String, fault: ConnectionFault?) {
        self.name = name
        self.fault = fault
    }

    /// What happened, in a sentence that names it.
    package var sentence: String {
        guard let fault else { return "\(name): the last requests were not answered, or with failures" }
        return fault.sentence.contains(name) ? fault.sentence : "\(name): \(fault.sentence)"
    }
}
