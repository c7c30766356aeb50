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

    // The numbers of the settings on the wire.
    static let headerTableSizeID: UInt16 = 1
    static let enablePushID: UInt16 = 2
    static let maxConcurrentStreamsID: UInt16 = 3
    static let initialWindowSizeID: UInt16 = 4
    static let maxFrameSizeID: UInt16 = 5
    static let maxHeaderListSizeID: UInt16 = 6

    /// The settings that differ from the defaults of the protocol.
    var entries: [(id: UInt16, value: UInt32)] {
        let all: [(UInt16, UInt32?)] = [
            (Self.headerTableSizeID, headerTableSize), (Self.enablePushID, enablePush.map { $0 ? 1 : 0 }),
            (Self.maxConcurrentStreamsID, maxConcurrentStreams), (Self.initialWindowSizeID, initialWindowSize),
            (Self.maxFrameSizeID, maxFrameSize), (Self.maxHeaderListSizeID, maxHeaderListSize),
        ]
        return all.compactMap { id, value in value.map { (id, $0) } }
    }
}
