import JSON5

@testable import PushSimulator

extension FuzzTarget {
    /// The two readers of the simulator: what the scanner accepts as JSON, the JSON5 reader accepts as well.
    static let json = FuzzTarget(
        name: "json",
        seeds: {
            [
                #"{"aps":{"alert":{"title":"a","body":"b"},"badge":1,"content-available":1,"sound":"x"},"k":[1,2.5e-3]}"#,
                #"{"aps":{"timestamp":1,"event":"update","content-state":{},"stale-date":2}}"#,
                #"{"mdm":"\u00e9\ud83d\ude00"}"#,
                #"[true,false,null,-0.0,1E9,"",{"a":[[[]]]}]"#, "{a:'b',/*c*/d:0x1F,e:[+1,.5,5.,],//f\n}",
                "[Infinity,-NaN]",
                #"{"\u0061ps":{}}"#, "\u{feff}[]", #"'\x41\v\0\#nx'"#,
                "{seed:1,rules:[{match:{share:0.5},answer:{status:429,reason:'TooManyRequests'},times:2}]}",
                "{rules:[{on:'connect',goaway:{back:1,code:'NO_ERROR',reason:'Shutdown'},latency:'5ms'}]}",
            ].map { Array($0.utf8) }
        },
        run: { input in
            let bytes = input.rest()
            ByteView.lending(bytes) { view in
                let facts = JSONScanner.scan(view)
                let tree = try? JSON5Reader.read(bytes)
                if facts != nil {
                    require(String(validating: bytes, as: UTF8.self) != nil, "accepted JSON is not UTF-8")
                    require(tree != nil, "the scanner accepts JSON that the reader rejects")
                    if tree?.members != nil {
                        require(facts?.isObject == true, "only one of the readers finds an object")
                    }
                    require(
                        JSONTree.strict(view) == tree || "\(tree!)".contains("nan"),
                        "the same bytes were parsed differently")
                } else {
                    require(JSONTree.strict(view) == nil, "the strict reader accepts invalid JSON")
                }
            }
            do throws(ScriptError) {
                _ = try FaultScript(bytes)
            } catch {
                require(!"\(error)".isEmpty, "an error without a description")
            }
        })
}
