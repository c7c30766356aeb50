import APNs
import PushModel
import PushTime

@testable import PushWire

extension FuzzTarget {
    /// Envelopes from producers, alone and in batches, parsed with the intake's reader and with the payload reader.
    static let envelope = FuzzTarget(
        name: "envelope",
        seeds: {
            let token = String(repeating: "0123456789abcdef", count: 4)
            let options =
                #""push_type":"voip","priority":5,"expires_at":1767225600,"not_before":1767200000,"collapse_id":"c","#
                + #""on_unknown":"drop","again":true,"traceparent":"00-ab""#
            let envelopes = [
                #"{"id":"a","app":"shop","to":{"tokens":["\#(token)","AB","ab"]},\#(options),"payload":{"aps":{}}}"#,
                #"{"id":"a\u0041\ud83d\ude00","app":"shop","to":{"users":["u","v"]},"alert":{"title":"t","body":"b"},"badge":3}"#,
                #"{"id":"a","app":"shop","to":{"devices":["00112233445566778899aabbccddeeff"]},"custom":{"x":[{}]}}"#,
                #"{"id":"a","app":"shop","to":{"tags":{"all":["a",{"any":["b"]},{"not":"d"}]}},"sound":"x"}"#,
                #"{"id":"a","app":"shop","to":{"all":true},"image":"a:b","link":"c:d","category":"e","thread":"f"}"#,
                #"{"id":"a","app":"shop","to":{"all":true},"payload":{"y":[1.5e-3,null,[[]]]}}"#,
                #"{"id":"a","app":"shop","to":{"all":true},"alert":{"locales":{"en":"a","de_CH":{"body":"b"}},"default":"en"}}"#,
                #"{"id":"a","app":"shop","to":{"users":["v","u"]},"alert":"{n}{{{m}","values":{"u":{"n":"1","m":"\""},"v":{"n":"","m":"2"}}}"#,
            ]
            return envelopes.map { [0] + Array($0.utf8) } + [
                [2] + Array(#"{"aps":{}}"#.utf8) + Array(envelopes[0].utf8),
                [1] + Array(envelopes.joined(separator: "\n").utf8),
                [3] + Array(#"{"since":7,"prefix":"delivery/shop/","limit":10}"#.utf8),
            ]
        },
        run: { input in
            let kind = input.byte() & 3
            let frame = kind == 2 ? input.take(10) : nil
            let bytes = input.rest()
            switch kind {
            case 1: EnvelopeCheck.batch(bytes)
            case 3:
                unsafe bytes.withUnsafeBytes { bytes in
                    do throws(Rejection) {
                        let request = try ReplayRequest.read(unsafe Array(bytes))
                        require(request.limit >= 1, "a limit of \(request.limit)")
                    } catch {
                        require(!error.detail.isEmpty, "a rejection without detail")
                    }
                }
            default:
                EnvelopeCheck.agreement(bytes)
                EnvelopeCheck.check(EnvelopeCheck.read(bytes, frame), bytes, frame)
            }
        })
}

private enum EnvelopeCheck {
    // libFuzzer uses one thread.
    nonisolated(unsafe) static let reader = EnvelopeReader(
        apps: AppTable([
            AppFacts(
                id: AppID("shop")!, codec: APNsCodec(app: AppID("shop")!, topic: "com.example.shop", usesToken: true))
        ]))

    static func read(_ bytes: [UInt8], _ frame: [UInt8]?) -> Result<PushRequest, EnvelopeFault> {
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe (frame ?? []).withUnsafeBytes { payload in
                do throws(EnvelopeFault) {
                    return .success(
                        unsafe try reader.read(
                            bytes, payload: frame == nil ? nil : payload, now: UnixSeconds(1_767_000_000)))
                } catch {
                    return .failure(error)
                }
            }
        }
    }

    /// Checks that two independent readers find the same values or both reject the bytes.
    static func agreement(_ bytes: [UInt8]) {
        var index = JSONIndex()
        let text = ByteView.lending(bytes) { index.padded($0) }
        let isJSON = index.read(text) == .json
        do throws(JSONError) {
            let document = try JSONDocument(bytes)
            require(isJSON, "one reader accepts what the other rejects")
            let json = index.values(in: text)!
            require(json.count == document.nodes.count, "\(json.count) values, or \(document.nodes.count)")
            for (position, node) in document.nodes.enumerated() {
                require(json.kind(position) == node.kind, "the kinds of a value differ")
                require(json.next(position) == Int(node.next), "the following values differ")
                require(
                    json.raw(position).equals(Array(document.bytes[Int(node.start)..<Int(node.end)])),
                    "the positions of a value differ")
            }
        } catch {
            require(!isJSON || error.code == .tooDeep, "accepted as JSON by one reader: \(error)")
        }
    }

    static func check(_ result: Result<PushRequest, EnvelopeFault>, _ bytes: [UInt8], _ frame: [UInt8]?) {
        switch result {
        case .success(let request):
            guard let json = try? JSONDocument(bytes) else { fatalError("an envelope is not JSON") }
            func text(_ key: StaticString) -> String? { json.value(key, in: json.root).flatMap { json.string($0) } }
            require(text("id") == request.message.id.text, "the id differs")
            require(text("collapse_id") == request.message.collapseID?.text, "the collapse id differs")
            require(JSONDocument.isObject(request.message.payload), "the payload is not an object")
            if let frame { require(frame == request.message.payload, "the payload differs") }
            require(request.audience.named != 0, "the audience is empty")
        case .failure(let fault):
            require(!fault.rejection.detail.isEmpty, "a rejection without detail")
            require((fault.id?.utf8.count ?? 0) <= 128, "the id is too long")
            var ack: [UInt8] = []
            AckText.rejected(id: fault.id, fault.rejection, to: &ack)
            require(JSONDocument.isObject(ack), "the ack is not JSON")
        }
    }

    /// Checks that each line of a batch has the same result as it has alone.
    static func batch(_ bytes: [UInt8]) {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Array($0) }
        if lines.last?.isEmpty == true { lines.removeLast() }
        var results: [Result<PushRequest, EnvelopeFault>] = []
        unsafe bytes.withUnsafeBytes { bytes in
            do throws(Rejection) {
                unsafe try reader.readBatch(bytes, now: UnixSeconds(1_767_000_000)) { results.append($0) }
            } catch {
                require(lines.isEmpty, "a batch is rejected: \(error)")
            }
        }
        require(results.count == lines.count, "\(results.count) results for \(lines.count) lines")
        for (line, result) in zip(lines, results) {
            switch (result, read(line, nil)) {
            case (.success(let one), .success(let other)):
                require(one.audience == other.audience, "the audiences differ")
                require(one.message.payload == other.message.payload, "the payloads differ")
            case (.failure(let one), .failure(let other)): require(one == other, "the faults differ: \(one), \(other)")
            default: fatalError("accepted in one form and rejected in the other")
            }
        }
    }
}
