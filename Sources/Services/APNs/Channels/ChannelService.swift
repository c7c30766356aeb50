/// The service for a request: one host manages channels, another sends broadcasts (Documentation/Protocols.md, "A1.
/// Hosts").
package enum ChannelService: Sendable {
    case management, sending
}
