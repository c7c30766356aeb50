package import PushModel

/// Why an envelope is not taken, and of which message that is to be said.
package struct EnvelopeFault: Error, Sendable, Equatable {
    /// As it was given, good or bad, if it could be read: at most 128 bytes of it, for the ack.
    package let id: String?
    package let rejection: Rejection
    /// Nil when none was named that is known.
    package let app: AppID?

    package init(id: String?, rejection: Rejection, app: AppID?) {
        self.id = id
        self.rejection = rejection
        self.app = app
    }
}

/// Reads what producers hand in (DESIGN §4). One for each loop: it keeps its memory from one envelope to the next.
package final class EnvelopeReader {
    /// In one batch.
    package static let mostLines = 10_000
    /// What 100,000 names of the longest kind take, and the largest payload: more than this is not even looked through.
    package static let longestEnvelope = 32 << 20
    /// Envelopes over this are rare, and their memory is given back.
    private static let usualLength = 1 << 20

    private let apps: AppTable
    private var index = JSONIndex()
    /// An index for payloads outside of the envelope, whose own index is still in use then.
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

    /// One envelope.
    ///
    /// - Parameters:
    ///   - payload: frame 3, if there was one.
    ///   - now: seconds since 1970.
    package func read(
        _ envelope: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer?, now: Int64
    ) throws(EnvelopeFault) -> PushRequest {
        try checkLength(envelope)
        defer { if envelope.count > Self.usualLength { index.trim() } }
        return try request(index.padded(envelope), payload, now)
    }

    /// One frame of envelopes, a line each, in their order. What is wrong with a line is told of that line; throws when
    /// there are none or too many, and then nothing was told.
    package func readBatch(
        _ lines: UnsafeRawBufferPointer, now: Int64, _ each: (Result<PushRequest, EnvelopeFault>) -> Void
    ) throws(Rejection) {
        let count = JSONLines.count(lines, limit: Self.mostLines)
        guard count > 0 else { throw Rejection(.badFrame, "there is no line in it") }
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
            // Behind most lines stand others: only the last ones are copied to where there is something behind them.
            let isPadded = lines.count - range.upperBound >= JSONIndex.padding
            return .success(try request(isPadded ? line : index.padded(line), nil, now))
        } catch {
            return .failure(error)
        }
    }

    /// The text can be read past its end.
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
            // For the id, if it came before what is wrong.
            reading.gatherWhatIsThere()
        }
        throw EnvelopeFault(id: reading.idAsGiven, rejection: rejection, app: reading.namedApp)
    }

    /// Where and why it is not JSON, in the words of the reader that knows: it reads the text once more.
    private static func refusal(of text: UnsafeRawBufferPointer, _ verdict: JSONIndex.Verdict) -> Rejection {
        if verdict == .noMemory { return Rejection(.badFrame, "\(text.count) bytes are more than there is memory for") }
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
        // Nothing is kept of it, and its strings are counted only: each name is one.
        let isCrowded = JSONLines.hasMoreQuotes(envelope, than: 2 * Audience.maximumNamed)
        let rejection =
            isCrowded
            ? Rejection(.tooMany, "more than \(Audience.maximumNamed) names are too many for one message")
            : Rejection(.badFrame, "\(envelope.count) bytes; an envelope has at most \(Self.longestEnvelope)")
        throw EnvelopeFault(id: idAtFront(of: envelope), rejection: rejection, app: nil)
    }

    /// The id of an envelope that is not read, if it comes first, as it mostly does.
    private func idAtFront(of envelope: UnsafeRawBufferPointer) -> String? {
        let front = UnsafeRawBufferPointer(rebasing: envelope.prefix(4096))
        // Cut within a string nothing would be found: so it is cut behind a comma, one after the other from the left.
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
