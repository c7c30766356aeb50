package import PushPipeline

extension Configuration.Security {
    /// The clients by public key, for the ZAP handlers, intake and the event bus.
    package var directory: ClientDirectory {
        ClientDirectory(
            Dictionary(
                clients.map { ($0.publicKey, .init(name: $0.name, push: Set($0.push), observe: $0.observe)) },
                uniquingKeysWith: { first, _ in first }))
    }
}
