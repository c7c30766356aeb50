/// Which host a request goes to: channels are managed at one and broadcasts sent at another (PROTOCOLS A1).
package enum ChannelService: Sendable {
    case management, sending
}
