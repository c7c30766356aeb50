/// The settings that one side announces (RFC 9113, section 6.5.2). Nil means the default of the protocol.
package struct HTTP2Settings: Hashable, Sendable {
    package var headerTableSize: UInt32?
    package var maxConcurrentStreams: UInt32?
    package var initialWindowSize: UInt32?
    package var maxFrameSize: UInt32?
    package var maxHeaderListSize: UInt32?
    /// Clients only, and false, because pushed streams are not supported.
    package var enablePush: Bool?

    package init(
        headerTableSize: UInt32? = nil, maxConcurrentStreams: UInt32? = nil, initialWindowSize: UInt32? = nil,
        maxFrameSize: UInt32? = nil, maxHeaderListSize: UInt32? = nil, enablePush: Bool? = nil
    ) {
        self.headerTableSize = headerTableSize
        self.maxConcurrentStreams = maxConcurrentStreams
        self.initialWindowSize = initialWindowSize
        self.maxFrameSize = maxFrameSize
        self.maxHeaderListSize = maxHeaderListSize
        self.enablePush = enablePush
    }
}
