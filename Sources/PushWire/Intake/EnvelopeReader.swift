package import PushModel

/// The rejection of an envelope, and the message that it concerns.
package struct EnvelopeFault: Error, Sendable, Equatable {
    /// The id as the producer gave it, valid or not, if it could be read: at most 128 bytes, for the ack.
    package let id: String?
    package let rejection: Rejection
    /// Nil if the envelope names no known app.
    package let app: AppID?

    package init(id: String?, rejection: Rejection, app: AppID?) {
        self.id = id
        self.rejection = rejection
        self.app = app
    }
}

/// Parses the envelopes of producers. Each event loop has its own reader, which reuses its memory.
package final class EnvelopeReader {
    /// The largest number of lines in one batch.
    package static let mostLines = 10_000
    /// The largest length of an envelope: room for 100,000 names of the longest kind and the largest payload. Longer
    /// envelopes are not parsed.
    package static let longestEnvelope = 32 << 20
    /// The length above which the memory for an envelope is released again; such envelopes are rare.
    private static let usualLength = 1 << 20

    private let apps: AppTable
    private var index = JSONIndex()
    /// The index for payloads outside of the envelope, whose own index is still in use at that time.
    private var payloadIndex = JSONIndex()
    private let places: UnsafeMutableBufferPointer<Int32>

    package init(apps: AppTable) {
        self.apps = apps
        places = .allocate(capacity: EnvelopeKey.count)
        places.initialize(repeating: 0)
    }

    deinit {
        places.deallocate()
    }

    /// Parses one envelope.
    ///
    /// - Parameters:
    ///   - payload: Frame 3, if there was one.
    ///   - now: Seconds since 1970.
    package func read(
        _ envelope: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer?, now: Int64
    ) throws(EnvelopeFault) -> PushRequest {
        try checkLength(envelope)
        defer { if envelope.count > Self.usualLength { index.trim() } }
        return try request(index.padded(envelope), payload, now)
    }

    /// Parses one frame with an envelope on each line and calls `each` for every line in order, also for invalid ones.
    /// Throws before the first call if there are no lines or too many.
    package func readBatch(
        _ lines: UnsafeRawBufferPointer, now: Int64, _ each: (Result<PushRequest, EnvelopeFault>) -> Void
    ) throws(Rejection) {
        let count = JSONLines.count(lines, limit: Self.mostLines)
        guard count > 0 else { throw Rejection(.badFrame, "there is no line in the frame") }
        guard count <= Self.mostLines else {
            throw Rejection(.tooMany, "there are more than \(Self.mostLines) lines")
        }
        defer { if lines.count > Self.usualLength { index.trim() } }
        var start = 0
        while start < lines.count {
            let end = JSONLines.end(in: lines, from: start)
            each(result(of: lines, start..<end, now))
            start = end + 1
        }
    }

    private func result(
        of lines: UnsafeRawBufferPointer, _ range: Range<Int>, _ now: Int64
    ) -> Result<PushRequest, EnvelopeFault> {
        let line = UnsafeRawBufferPointer(rebasing: lines[range])
        do throws(EnvelopeFault) {
            try checkLength(line)
            // Most lines are followed by enough readable bytes; only the last ones are copied to padded memory.
            let isPadded = lines.count - range.upperBound >= JSONIndex.padding
            return .success(try request(isPadded ? line : index.padded(line), nil, now))
        } catch {
            return .failure(error)
        }
    }

    /// Parses one envelope, whose text must be followed by readable padding.
    private func request(
        _ text: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer?, _ now: Int64
    ) throws(EnvelopeFault) -> PushRequest {
        let verdict = index.read(text)
        guard let json = index.found(in: text) else {
            throw EnvelopeFault(id: nil, rejection: Self.refusal(of: text, verdict), app: nil)
        }
        let reading = EnvelopeReading(json, apps: apps, places: places, now: now)
        let rejection: Rejection
        if verdict == .json {
            do throws(Rejection) {
                return try reading.request(payload: payload, index: &payloadIndex)
            } catch {
                rejection = error
            }
        } else {
            rejection = Self.refusal(of: text, verdict)
            // Finds the id if it precedes the error.
            reading.gatherWhatIsThere()
        }
        throw EnvelopeFault(id: reading.idAsGiven, rejection: rejection, app: reading.namedApp)
    }

    /// Returns the rejection of invalid JSON. ``JSONDocument`` parses the text again to find position and cause.
    private static func refusal(of text: UnsafeRawBufferPointer, _ verdict: JSONIndex.Verdict) -> Rejection {
        if verdict == .noMemory { return Rejection(.badFrame, "there is not enough memory for \(text.count) bytes") }
        if verdict == .tooDeep { return Rejection(.badJSON, JSONError.Code.tooDeep.rawValue) }
        do throws(JSONError) {
            _ = try JSONDocument(Array(text))
            return Rejection(.badJSON, "it is not JSON")
        } catch {
            return Rejection(.badJSON, "\(error)")
        }
    }

    // MARK: Too long

    private func checkLength(_ envelope: UnsafeRawBufferPointer) throws(EnvelopeFault) {
        guard envelope.count > Self.longestEnvelope else { return }
        // The envelope is not stored; its strings are only counted, since each name is one.
        let isCrowded = JSONLines.hasMoreQuotes(envelope, than: 2 * Audience.maximumNamed)
        let rejection =
            isCrowded
            ? Rejection(.tooMany, "more than \(Audience.maximumNamed) names, the largest number for one message")
            : Rejection(.badFrame, "\(envelope.count) bytes; an envelope has at most \(Self.longestEnvelope)")
        throw EnvelopeFault(id: idAtFront(of: envelope), rejection: rejection, app: nil)
    }

    /// Returns the id of an envelope that is not parsed, if it comes first, as it usually does.
    private func idAtFront(of envelope: UnsafeRawBufferPointer) -> String? {
        let front = UnsafeRawBufferPointer(rebasing: envelope.prefix(4096))
        // A text cut within a string is not parsed at all. So it is cut after each comma in turn, from the left.
        for end in front.indices where front[end] == UInt8(ascii: ",") {
            let text = index.padded(UnsafeRawBufferPointer(rebasing: front[..<end]))
            guard index.read(text) == .notJSON, let json = index.found(in: text) else { continue }
            let reading = EnvelopeReading(json, apps: apps, places: places, now: 0)
            reading.gatherWhatIsThere()
            if let id = reading.idAsGiven { return id }
        }
        return nil
    }
}
