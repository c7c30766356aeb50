import PushPipeline

extension Configuration.Security {
    /// Which key is whose, for the ZAP handler and for intake.
    var directory: ClientDirectory {
        ClientDirectory(
            Dictionary(
                clients.map { ($0.publicKey, .init(name: $0.name, push: Set($0.push), observe: $0.observe)) },
                uniquingKeysWith: { first, _ in first }))
    }
}
