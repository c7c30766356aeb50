import JSON5
import PushLoop
import PushTransport

/// The simulated App Store: it signs data, sends notifications, and verifies receipts.
extension SimulatorService {
    private static let sendingTime: Duration = .seconds(30)
    private static let signAdvice = "send the claims as one JSON object, such as {\"bundleId\": \"com.example.shop\"}"

    /// Handles a request to the control port about the store. The answer may come later.
    func controlStore(
        _ request: ControlRequest, signature: StoreSignature, done: @escaping (ControlResponse) -> Void
    ) {
        do throws(ControlError) {
            _ = try ControlQuery(request.query, keys: [])
            switch request.path {
            case "/store/sign": done(try sign(request.body, with: signature))
            case "/store/notifications": try notify(request.body, signature: signature, done: done)
            default: done(machine.control(request, now: now))
            }
        } catch {
            done(error.response)
        }
    }

    private func sign(_ body: [UInt8], with signature: StoreSignature) throws(ControlError) -> ControlResponse {
        try ControlError.reading(advice: Self.signAdvice) {
            guard ByteView.lending(body, to: { JSONTree.strict($0) })?.members != nil else {
                throw ControlError("the body is not a JSON object", advice: Self.signAdvice)
            }
            return .text(try signature.sign(body) + "\n")
        }
    }

    private func notify(
        _ body: [UInt8], signature: StoreSignature, done: @escaping (ControlResponse) -> Void
    ) throws(ControlError) {
        let now = now
        let (notice, text) = try ControlError.reading(advice: StoreNotice.advice) {
            let notice = try StoreNotice(SimulatorMachine.tree(body), random: &storeRandom)
            return (notice, try notice.signed(with: signature, now: now))
        }
        guard let address = notice.address, let resolver = options.resolver else {
            done(Self.response(notice.id, text, []))
            return
        }
        let tls: TLSContext?
        do {
            tls = address.isSecure ? try TLSContext.client(TLSClientConfiguration(trust: .system)) : nil
        } catch {
            throw ControlError("\(error)", status: 500, advice: "use an http address")
        }
        var payload = JSONText()
        payload.object { $0.member("signedPayload", string: text) }
        let request = HTTP1ClientRequest(post: payload.bytes, to: address, contentType: "application/json")
        send(request, resolver: resolver, tls: tls, times: notice.times, answers: []) { answers in
            done(Self.response(notice.id, text, answers))
        }
    }

    /// Sends a request several times, one after the other.
    private func send(
        _ request: HTTP1ClientRequest, resolver: NameResolver, tls: TLSContext?, times: Int, answers: [String],
        done: @escaping ([String]) -> Void
    ) {
        guard times > 0 else {
            done(answers)
            return
        }
        HTTP1ClientCall.start(request, on: loop, resolver: resolver, tls: tls, within: Self.sendingTime) {
            [weak self] result in
            let answer =
                switch result {
                case .success(let response): "\(response.status)"
                case .failure(let fault): "\(fault)"
                }
            guard let self else {
                done(answers + [answer])
                return
            }
            send(request, resolver: resolver, tls: tls, times: times - 1, answers: answers + [answer], done: done)
        }
    }

    private static func response(_ id: String, _ text: String, _ answers: [String]) -> ControlResponse {
        .json {
            $0.member("id", string: id)
            $0.array("answers") { list in for answer in answers { list.element(answer) } }
            $0.member("signed_payload", string: text)
        }
    }

    /// Answers a request to the store's own port, as Apple's servers do: production, and below `/sandbox` the sandbox.
    func answerStore(_ request: HTTP1Request, with responder: HTTP1Responder) {
        let isSandbox = request.target == "/sandbox/verifyReceipt"
        let body: [UInt8]
        let status: Int
        if isSandbox || request.target == "/verifyReceipt" {
            // Apple's server answers another method than POST with a status in the body, too.
            body =
                request.method == .post
                ? receipts.answer(request.body, isSandbox: isSandbox) : Array(#"{"status":21000}"#.utf8)
            status = 200
        } else {
            (status, body) = (404, [])
        }
        do throws(HTTP1Error) {
            try responder.respond(status: status, headers: ["content-type": "application/json"], body: body)
        } catch {
            // The responder answers with status 500 when it is dropped.
        }
    }
}
