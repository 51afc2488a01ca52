"""The rubric in Chinese, which the paper's teachers read (SLICE-Mem A.1): the same rules as `rubric_en`."""

GUIDE = """\
你是几位互不交流的标注者之一，请独立判断。请遵循下面的指南，只返回 JSON。

指南：一条消息给对话记忆增加了什么
[CONTEXT] 是目标消息之前的若干条消息，[TARGET] 是需要你判断的目标消息。请判断：对一个通用的对话记忆系统来说，\
TARGET 贡献了怎样的核心命题。
- CONTEXT 只有一个用途：弄清 TARGET 中的指代、省略、对比、可选项和相对时间。只在 CONTEXT 里出现的信息，不算 TARGET \
的贡献。
- 只看意思。不要依据数据集可能带有的标签、测试集的特点、各类别应有的数量、句子长短或个别词语来判断；文字没有支持的\
内容不要推断。

请分别作出三项判断：
1. primary_memory_type：TARGET 贡献的命题属于哪一类；
2. context_dependency：只看 TARGET 能否得到同样的命题；
3. candidate_memory：保存这个命题，对以后的轮次或会话是否可能有帮助。
符合某个类别并不意味着值得保存。学生模型只学习 candidate_memory。

第一步 还原命题
说清 TARGET 陈述、确认、更正、选择、承诺或更新了什么。判断的是这条消息的贡献，不是整段对话的话题。如果 TARGET 主要\
是在提问、道谢、问候、应答或表达情绪，附带的从句一般视为次要内容，除非它明确说出了可以保存的事实、偏好、计划或承诺。

第二步 只选一个 primary_memory_type
- personal_semantic：关于 TARGET 说话人的稳定或可以概括的信息，如身份、人际关系、偏好、习惯、能力、价值观、长期的限\
制或状态。通常不限于某一次场合。
- autobiographical_episodic：说话人某一次有边界的经历或事件，发生在特定的场合、情境、时间或地点。它讲的是曾经发生过\
的一件事；这件事不一定值得保存。
- prospective：属于 TARGET 说话人的未来打算、计划、目标、承诺、约定、截止日期或预期的行动。对未来计划的更正仍属此类\
。多人的共同安排，如果说话人作出了承诺，并且主要的新信息就是这个承诺，也属此类。
- non_memory：没有可以保存的个人命题，例如问候、道谢、应答、一般性提问、闲聊、单纯重复、没有根据的猜测、为了提问或\
闲聊而说的传闻和评价，或者只是确认、重复 CONTEXT 中已经定下的内容，既没有增加长期的个人事实，也没有增加未来的承诺。
简而言之：关于人的稳定信息是 personal_semantic；一次有边界的事件是 autobiographical_episodic；说话人自己的未来行动\
或承诺是 prospective；其余是 non_memory。
如果几类都说得通，按以后的主要价值选择，顺序为：一、说话人的未来计划或承诺；二、关于人的稳定信息；三、有边界的事件\
。除非 TARGET 自己说出了可以概括的偏好、习惯、价值观或长期状态，否则不要把一次经历升格为 personal_semantic。随口的\
兴趣、传闻以及“听说不错”之类的闲谈，不算稳定的偏好。

第三步 盖住 CONTEXT 再读一遍
- self_contained：只看 TARGET 就能得到同样的核心命题，而且正确保存所需的人物、事件、选项和时间都在其中。
- context_dependent：没有 CONTEXT，核心命题就不完整、有歧义或者明显变了。如果要靠 CONTEXT 才知道代词指谁、省略了什\
么、说的是哪个计划、订单或选项，就标 context_dependent。代词、省略和简短的回答是强烈的提示，但不能自动决定结果。如\
果 CONTEXT 是 {none}，不要自己补出缺失的意思。

第四步 判断 candidate_memory
只有当保存 TARGET 的贡献可能改善以后的连贯性、个性化、事实一致性、恰当的跟进，或者有助于完成尚未完成的计划和承诺，\
并且这种好处超出当前交流的几分钟之后，才标 true。
下列情况标 false：
- 闲聊、道谢、问候、应答和一般性提问；
- 以提问为主的消息，即使其中提到了感兴趣的话题；
- 只为维持闲谈的传闻或肤浅评价；
- 只在接下来几分钟有用、随后就失效的行动，例如取这一单、“马上就到”、一时的指令；
- 没有长期价值的琐碎的一次性事件和经历；
- 关键内容没有说清的模糊事件；
- 只在 CONTEXT 中出现的事实；
- 需要没有根据的推断才能成立的解读。
旅行、工作和日常生活的小故事一般标 false，除非 TARGET 自己已经把它说成关于人的长期信息，或者说成尚未完成的承诺。

第五步 校准示例（CONTEXT / TARGET -> primary_memory_type, context_dependency, candidate_memory）
{calibration}

第六步 输出
只返回一个 JSON 对象，不要 Markdown，不要其他字段：
{{"primary_memory_type": "prospective", "context_dependency": "context_dependent", "candidate_memory": true, \
"confidence": 0.91, "evidence": ["从 TARGET 原样抄下的文字"], "reason": "一句简短的理由。"}}
- primary_memory_type 只能是上面四个名称之一；context_dependency 只能是 self_contained 或 context_dependent。
- candidate_memory 必须是 JSON 布尔值；类别是 non_memory 时必须为 false。
- confidence 是 0 到 1 之间的数。
- evidence 是一到三段非空文字，从 TARGET 逐字抄下，大小写和标点都要一致。
- reason 是一句以 TARGET 为依据的简短理由，只在必要时用到 CONTEXT。
请在心里推理，只写出 JSON。"""

CORRECTION = """\
你的回答不能使用：
{faults}
目标消息再给你一次：
{target}
请只返回改正后的完整 JSON 对象。"""
